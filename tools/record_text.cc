#include "tools/record_text.h"

#include "tools/text_format.h"

namespace braid::tools {
namespace {

void AppendText(std::string_view bytes, bool hex, std::string* out) {
  if (hex) {
    AppendHex(bytes, out);
  } else {
    AppendEscaped(bytes, out);
  }
}

}  // namespace

void AppendRecordLine(std::string_view key, std::string_view value, const RecordStyle& style,
                      std::string* out) {
  if (style.json) {
    out->push_back('{');
    AppendJsonField("key", key, style.hex, out);
    if (!style.keys_only) {
      out->push_back(',');
      AppendJsonField("value", value, style.hex, out);
    }
    out->append("}\n");
    return;
  }
  AppendText(key, style.hex, out);
  if (!style.keys_only) {
    out->push_back('\t');
    AppendText(value, style.hex, out);
  }
  out->push_back('\n');
}

}  // namespace braid::tools
