// SPDX-License-Identifier: Apache-2.0
// What a lock store keeps of a name: any bytes give an entry or a refusal, and an entry is written
// and read again as the same one.
#include <cstdint>
#include <string_view>

#include "lock_entry_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto entry = oncemq::DecodeLockEntry(bytes);
  if (!entry) {
    return 0;
  }
  const std::string written = oncemq::EncodeLockEntry(*entry);
  const auto again = oncemq::DecodeLockEntry(written);
  if (!again || oncemq::EncodeLockEntry(*again) != written) {
    __builtin_trap();
  }
  oncemq::LockEntry::Turns turns;
  static_cast<void>(entry->Free({1, 2}, oncemq::BootTime(oncemq::microseconds(3)), turns));
  return 0;
}
