// SPDX-License-Identifier: Apache-2.0
// A store of the tests: what its writer, and the test that looks at what was left, have in common.
#pragma once

#include <string>

#include "oncemq/clients/rocks_store.h"

namespace oncemq::testing {

// Rows go to one after the other, so that no family's files alone are a prefix.
inline constexpr int64_t kPowerFamilies = 2;

inline RocksOptions PowerStoreOptions(const std::string& directory) {
  constexpr size_t kBuffer = size_t{64} << 10;  // RocksDB's least
  RocksOptions options{.directory = directory};
  options.families = {{.name = "default", .memtable_bytes = kBuffer},
                      {.name = "other", .memtable_bytes = kBuffer}};
  return options;
}

inline std::string RowName(int64_t row) {
  std::string name = std::to_string(row);
  return std::string(12 - name.size(), '0') + name;
}

}  // namespace oncemq::testing
