// SPDX-License-Identifier: Apache-2.0
// A journal is a file that people edit and disks tear. Any bytes must be refused or read; what was
// read ends with a whole line, and torn bytes behind it change nothing.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "journal_tail.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const bool complete : {false, true}) {
    const auto tail = oncemq::FindJournalTail(bytes, complete);
    if (!tail) {
      continue;
    }
    if (tail->end > size || (tail->end == 0) != (tail->last_entry == 0) ||
        (tail->end > 0 && bytes[tail->end - 1] != '\n')) {
      std::abort();
    }
    const std::string torn = std::string(bytes.substr(0, tail->end)) + "{\"v\":1,\"ent";
    const auto again = oncemq::FindJournalTail(torn, complete);
    if (tail->end > 0 &&
        (!again || again->end != tail->end || again->last_entry != tail->last_entry)) {
      std::abort();
    }
  }
  return 0;
}
