// SPDX-License-Identifier: Apache-2.0
#include "markup.h"

namespace oncemq::demo {

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        // Above ASCII too: whose encoding it is, nobody can say.
        out += (c >= ' ' && c < '\x7f') || c == '\n' || c == '\t' ? c : '?';
    }
  }
  return out;
}

std::string Element(std::string_view name, std::string_view text, std::string_view attributes) {
  std::string out = "<";
  out.append(name).append(attributes.empty() ? "" : " ").append(attributes).append(">");
  return out.append(Escaped(text)).append("</").append(name).append(">");
}

}  // namespace oncemq::demo
