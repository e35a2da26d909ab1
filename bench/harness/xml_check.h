// For tests of pages: whether a text is well-formed, and what its elements hold.
//
// Thread safety: functions without state.
// Persistence: none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace braid::bench {

/// What is wrong with `page` as XML, and where; empty when it is well-formed. Knows what our pages
/// use: a document type, elements, quoted attributes, the five entities and numbers.
inline std::string XmlProblem(std::string_view page) {
  std::vector<std::string> open;
  const auto bad_entity = [](std::string_view text) {
    for (size_t at = text.find('&'); at != std::string_view::npos; at = text.find('&', at + 1)) {
      const std::string_view name = text.substr(at + 1, text.find(';', at) - at - 1);
      const bool number = name.size() > 1 && name[0] == '#' &&
                          name.find_first_not_of("0123456789", 1) == std::string_view::npos;
      if (!number && name != "amp" && name != "lt" && name != "gt" && name != "quot") return true;
    }
    return false;
  };
  size_t at = 0;
  while (at < page.size()) {
    const size_t less = page.find('<', at);
    const std::string_view text = page.substr(at, less - at);
    if (bad_entity(text)) return "bad entity in: " + std::string(text.substr(0, 80));
    if (less == std::string_view::npos) break;
    // A '>' inside quotes does not end the tag.
    size_t end = less + 1;
    bool quoted = false;
    for (; end < page.size() && (quoted || page[end] != '>'); ++end) {
      if (page[end] == '"') quoted = !quoted;
      if (page[end] == '<') return "'<' in: " + std::string(page.substr(less, 80));
    }
    if (end >= page.size()) return "open tag: " + std::string(page.substr(less, 80));
    std::string_view tag = page.substr(less + 1, end - less - 1);
    at = end + 1;
    if (bad_entity(tag)) return "bad entity in: " + std::string(tag);
    if (tag.starts_with("!DOCTYPE ")) continue;
    const bool closes = tag.starts_with("/");
    const bool empty = tag.ends_with("/");
    if (closes) tag.remove_prefix(1);
    const std::string name(tag.substr(0, tag.find_first_of(" /\n")));
    if (name.empty()) return "nameless tag: " + std::string(page.substr(less, 80));
    if (closes) {
      if (open.empty() || open.back() != name) return "</" + name + "> closes nothing";
      open.pop_back();
    } else if (!empty) {
      open.push_back(name);
    }
    for (size_t equals = tag.find('='); !closes && equals != std::string_view::npos;) {
      if (tag.substr(equals + 1, 1) != "\"") return "attribute without quotes: " + std::string(tag);
      const size_t close = tag.find('"', equals + 2);
      equals = tag.find('=', close);
    }
  }
  return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

/// The texts of all elements that begin with `open` ("<td>") and end with `close`.
inline std::vector<std::string> TextsBetween(std::string_view page, std::string_view open,
                                             std::string_view close) {
  std::vector<std::string> texts;
  for (size_t at = page.find(open); at != std::string_view::npos; at = page.find(open, at)) {
    at += open.size();
    texts.emplace_back(page.substr(at, page.find(close, at) - at));
  }
  return texts;
}

}  // namespace braid::bench
