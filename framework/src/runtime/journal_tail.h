// SPDX-License-Identifier: Apache-2.0
// How a journal file goes on: where its complete lines end, and the number of its last entry. Reads
// the bytes of a file that anybody may have written to (docs/formats.md), so it is total and
// fuzzed.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace oncemq {

inline constexpr std::string_view kJournalLineBegin = "{\"v\":1,\"entry\":";

// An entry with a larger number is never written nor read: the next one must fit an int64 too.
inline constexpr uint64_t kLastJournalEntry = std::numeric_limits<int64_t>::max() - 1;

struct JournalTail {
  size_t end = 0;           // complete lines take this much of the bytes; what follows is torn
  uint64_t last_entry = 0;  // 0: there is none yet
};

// `bytes`: the last ones of the file; `complete`: they are all of it. Nothing: no journal of this
// version, or a damaged one.
std::optional<JournalTail> FindJournalTail(std::string_view bytes, bool complete);

}  // namespace oncemq
