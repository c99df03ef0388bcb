// Escapes texts for SVG and HTML.
#include "ui/figure/markup.h"

namespace shardlens::ui {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n')
          result += c;  // XML has no other control characters
    }
  }
  return result;
}

}  // namespace shardlens::ui
