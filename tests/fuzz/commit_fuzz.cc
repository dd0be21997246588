// SPDX-License-Identifier: Apache-2.0
// Commit metadata comes from outside: anybody with access to the group can write it. Any text must
// be refused or read, and what is read must be written back the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "oncemq/base/bytes.h"
#include "oncemq/framework/assignment.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  constexpr int64_t kOffset = 100;
  // Once as it is, once with a right checksum, so that the parser behind it is reached.
  std::string sealed = "oncemq/1 " + std::string(input);
  sealed += " x=" + oncemq::Hex(oncemq::Crc32c(sealed)).substr(8);
  for (const std::string& text : {std::string(input), sealed}) {
    const auto metadata = oncemq::DecodeCommit(text, kOffset);
    if (metadata &&
        oncemq::MapFits({.offset = kOffset, .map = metadata->map, .not_done = metadata->not_done},
                        *metadata)) {
      const auto again = oncemq::DecodeCommit(oncemq::EncodeCommit(*metadata, kOffset), kOffset);
      if (!again || !(*again == *metadata)) {
        std::abort();
      }
    }
    (void)oncemq::ResolveAssignment({kOffset, text}, {0, 200}, {.suspects = true});
  }
  return 0;
}
