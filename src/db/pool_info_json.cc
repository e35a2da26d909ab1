// Purpose: PoolInfo as JSON.
// Thread safety: pure.
// Persistence: none.
#include <cstdio>
#include <string>
#include <string_view>

#include "braid/statistics.h"

namespace braid {

namespace {

/// Bytes of the UTF-8 character that `text` begins with; 0: it begins with none.
size_t CharacterBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const size_t bytes = first >= 0xf0 && first <= 0xf4 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return 0;
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Too long for what they say, surrogates, beyond the last character.
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
      (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f)) {
    return 0;
  }
  return bytes;
}

bool IsText(std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = CharacterBytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

/// An object that is written member by member.
class Writer {
 public:
  void Text(std::string_view name, std::string_view text) {
    Name(name);
    AppendString(text);
  }
  void Number(std::string_view name, int64_t number) {
    Name(name);
    json_ += std::to_string(number);
  }
  void Number(std::string_view name, uint64_t number) {
    Name(name);
    json_ += std::to_string(number);
  }
  void Bool(std::string_view name, bool value) {
    Name(name);
    json_ += value ? "true" : "false";
  }
  void Null(std::string_view name) {
    Name(name);
    json_ += "null";
  }
  void Optional(std::string_view name, const std::optional<uint64_t>& number) {
    number ? Number(name, *number) : Null(name);
  }
  void Open(std::string_view name, char bracket) {
    if (!name.empty()) {
      Name(name);
    } else if (json_.back() == '}') {
      json_ += ',';
    }
    json_ += bracket;
  }
  void Close(char bracket) { json_ += bracket; }
  std::string Take() { return "{" + std::move(json_) + "}"; }

 private:
  void Name(std::string_view name) {
    if (!json_.empty() && json_.back() != '{' && json_.back() != '[') json_ += ',';
    AppendString(name);
    json_ += ':';
  }
  void AppendString(std::string_view text) {
    const bool whole = IsText(text);
    json_ += '"';
    for (const char c : text) {
      char code[16];
      const auto byte = static_cast<unsigned char>(c);
      if (!whole && (byte >= 0x7f || byte < 0x20 || c == '\\')) {
        std::snprintf(code, sizeof code, "\\\\x%02x", byte);
        json_ += code;
      } else if (byte < 0x20) {
        std::snprintf(code, sizeof code, "\\u%04x", byte);
        json_ += code;
      } else {
        if (c == '"' || c == '\\') json_ += '\\';
        json_ += c;
      }
    }
    json_ += '"';
  }

  std::string json_;
};

void WriteDevice(const DeviceInfo& device, Writer* out) {
  out->Open("device", '{');
  out->Text("name", device.name);
  out->Text("filesystem", device.filesystem);
  out->Text("provider", device.provider);
  out->Text("persistence_domain", device.persistence_domain);
  out->Text("power_loss", PowerLossName(device.power_loss));
  out->Text("power_loss_reason", device.power_loss_reason);
  out->Optional("dirty_shutdowns", device.dirty_shutdowns);
  out->Open("bad_blocks", '[');
  for (const BadBlocks& blocks : device.bad_blocks) {
    out->Open("", '{');
    out->Number("first_sector", blocks.first_sector);
    out->Number("sectors", blocks.sectors);
    out->Close('}');
  }
  out->Close(']');
  out->Close('}');
}

}  // namespace

// Long: a line a field.
std::string ToJson(const PoolInfo& info) {
  Writer out;
  out.Text("path", info.path);
  out.Text("uuid", info.uuid);
  out.Text("design", info.design);
  out.Text("comparator", info.comparator);
  out.Number("format_version", uint64_t{info.format_version});
  out.Bool("clean", info.clean);
  out.Bool("in_use", info.in_use);
  out.Number("in_use_by_pid", info.in_use_by_pid);
  out.Bool("in_use_for_reading", info.in_use_for_reading);
  out.Number("pool_bytes", info.pool_bytes);
  out.Number("allocated_bytes", info.allocated_bytes);
  out.Text("why_no_holes", info.why_no_holes);
  out.Number("segments", info.segments);
  out.Number("chunk_bytes", info.chunk_bytes);
  out.Number("chunks", info.chunks);
  out.Number("chunks_free", info.chunks_free);
  out.Number("chunks_of_entries", info.chunks_of_entries);
  out.Number("chunks_of_values", info.chunks_of_values);
  out.Number("entries", info.entries);
  out.Number("l0_tables", info.l0_tables);
  out.Number("l0_entries", info.l0_entries);
  out.Text("tier", info.tier);
  out.Text("lists", info.regions.size() > 1 ? ListKindName(info.list_kind) : "one region");
  out.Open("regions", '[');
  for (const RegionInfo& region : info.regions) {
    out.Open("", '{');
    out.Text("path", region.path);
    out.Number("node", int64_t{region.node});
    out.Number("bytes", region.bytes);
    out.Number("chunks", region.chunks);
    out.Number("chunks_free", region.chunks_free);
    WriteDevice(region.device, &out);
    out.Close('}');
  }
  out.Close(']');
  out.Text("media_class", MediaClassName(info.media_class));
  out.Bool("media_class_forced", info.media_class_forced);
  out.Text("flush_instruction", info.flush_instruction);
  out.Text("power_loss", PowerLossName(info.power_loss));
  out.Text("promise", info.promise);
  out.Optional("dirty_shutdowns_at_open", info.dirty_shutdowns_at_open);
  out.Bool("media_loss_possible", info.media_loss_possible);
  return out.Take();
}

}  // namespace braid
