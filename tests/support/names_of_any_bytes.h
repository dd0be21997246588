// SPDX-License-Identifier: Apache-2.0
// Names that look alike, end early, or say something, to whoever does not count their bytes.
#pragma once

#include <string>
#include <vector>

namespace oncemq::testing {

inline std::vector<std::string> NamesOfAnyBytes() {
  return {std::string(1'024, '\xff'),
          std::string(1'023, '\xff'),
          "//",
          "/",
          std::string("\0", 1),
          std::string("\0\0", 2),
          "\"'",
          " ",
          "noreply",
          "x 0 1 1\r\nget x"};
}

}  // namespace oncemq::testing
