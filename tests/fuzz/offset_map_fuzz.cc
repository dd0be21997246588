// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "oncemq/ordering/offset_map.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto map = oncemq::OffsetMap::Decode(bytes, 7)) {
    const auto again = oncemq::OffsetMap::Decode(map->Encode(7), 7);
    if (!again || !(*again == *map)) {
      std::abort();
    }
  }
  return 0;
}
