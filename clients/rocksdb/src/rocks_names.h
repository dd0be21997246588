// SPDX-License-Identifier: Apache-2.0
// Names of files in a store that are ours, beside RocksDB's.
#pragma once

#include <string_view>

namespace oncemq {

inline constexpr std::string_view kIngestPrefix = "ingest-";

}  // namespace oncemq
