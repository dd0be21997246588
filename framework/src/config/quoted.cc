// SPDX-License-Identifier: Apache-2.0
#include "quoted.h"

namespace oncemq {

std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 60;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "`";
  for (const char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F) {
      out.push_back(c);
    } else {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out + (text.size() > kShown ? "...`" : "`");
}

}  // namespace oncemq
