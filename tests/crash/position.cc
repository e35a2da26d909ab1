#include "crash/position.h"

#include <cstdio>
#include <cstdlib>

namespace braid::crash {

Position current_position;
const char* current_workload = "";

std::string ToText(const Position& position) {
  std::string text = std::to_string(position.seed) + ":" + std::to_string(position.point) + ":";
  if (!position.by_prefixes) return text + std::to_string(position.image);
  text += 'p';
  size_t end = position.prefixes.size();
  while (end > 0 && position.prefixes[end - 1] == 0) --end;
  for (size_t i = 0; i < end; ++i) {
    if (i != 0) text += '.';
    text += std::to_string(position.prefixes[i]);
  }
  return text;
}

bool ParsePosition(const char* text, Position* position) {
  unsigned long long seed = 0;
  unsigned long long point = 0;
  int used = 0;
  if (std::sscanf(text, "%llu:%llu:%n", &seed, &point, &used) != 2 || used == 0) return false;
  *position = Position{seed, point, 0, false, {}};
  const char* at = text + used;
  char* end = nullptr;
  if (*at != 'p') {
    position->image = std::strtoull(at, &end, 10);
    return end != at && *end == '\0';
  }
  position->by_prefixes = true;
  ++at;
  while (*at != '\0') {
    position->prefixes.push_back(static_cast<uint32_t>(std::strtoul(at, &end, 10)));
    if (end == at) return false;
    at = *end == '.' ? end + 1 : end;
    if (at == end && *at != '\0') return false;
  }
  return true;
}

}  // namespace braid::crash
