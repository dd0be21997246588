// SPDX-License-Identifier: Apache-2.0
// The memory window under the conformance suite: as it is, and with a hash that gives all ids the
// same value, because whatever a hash does may cost time and nothing else.
#include <gtest/gtest.h>

#include "memory_engines.h"

namespace oncemq {
namespace {

uint64_t EqualHash(std::string_view) {
  return 0x5EED;
}

[[maybe_unused]] const bool kRegistered = RegisterWindowConformance(MemoryEngine("memory"));
[[maybe_unused]] const bool kRegisteredWithEqualHashes =
    RegisterWindowConformance(MemoryEngine("memory_equal_hashes", EqualHash));
[[maybe_unused]] const bool kRegisteredOwned =
    RegisterWindowConformance(MemoryEngine("memory_owned", ProcessHash, /*partition_owned=*/true));

}  // namespace
}  // namespace oncemq
