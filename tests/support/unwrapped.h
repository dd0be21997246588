// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <string>

namespace oncemq::testing {

// A text with its lines joined, as it was before it was wrapped for a terminal.
inline std::string Unwrapped(const std::string& text) {
  std::string out;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

}  // namespace oncemq::testing
