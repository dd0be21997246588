// SPDX-License-Identifier: Apache-2.0
// Replay: messages of the past, judged under their ids before any of them runs again.
//
//   auto set = FreezeReplay(options, {.since_ms = midnight}, seconds(10));
//   auto table = JudgeReplay(options, *set, *window, stop);
//
// **Promise:** nothing runs, and no id, offset or owner epoch changes. The set never grows.
//
// **Limits:** windows that hosts share, in PostgreSQL, or in Redis with ids that cross partitions.
// Messages below the committed frontier of the group.
//
// **Failure:** kInvalid for a service with another window, or with messages that need none.
//
// **Thread safety:** one thread for a set.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "oncemq/framework/runtime.h"

namespace oncemq {

// It has `since_ms` or `from`: no replay takes a whole topic by mistake.
struct ReplayRequest {
  std::vector<std::string> topics;  // empty: all of the service
  std::vector<int32_t> partitions;  // empty: all
  // Times of records, by the index of the broker. Milliseconds since 1970.
  std::optional<int64_t> since_ms;
  std::optional<int64_t> until_ms;
  // Offsets, with one topic and one partition. `to` is exclusive.
  std::optional<int64_t> from;
  std::optional<int64_t> to;
};

struct ReplayRange {
  std::string topic;
  int32_t partition = 0;
  int64_t from = 0;
  int64_t to = 0;        // exclusive, at most `frontier`
  int64_t frontier = 0;  // the group's commit as the set was frozen
  // The group has handled nothing below it: that is before its history.
  int64_t since = 0;

  friend bool operator==(const ReplayRange&, const ReplayRange&) = default;
};

// Never changes once it is made. A decision never looks at it: ids decide.
struct ReplaySet {
  std::string id;       // of the replay, r-YYYYMMDD-HHMMSS-<6 hex digits>
  std::string cluster;  // of the broker
  std::string owner;    // group, app, namespace, handler and recipe, as StoreOwner() gives them
  int64_t frozen_ms = 0;
  std::vector<ReplayRange> ranges;   // in the order of topics and partitions, none empty
  std::vector<std::string> notices;  // about lost records, and those above the frontier

  // The same for equal sets in every process, without the notices.
  uint64_t Digest() const;
};

enum class ReplayWord : uint8_t {
  kApplies,
  kSuppressed,  // done already
  kInFlight,    // a claim of its id is in force
  kOutside,     // unknown, and older than the window remembers
  kParked,      // or handed on: its record is the way
  kConflict,    // done with another payload
  kUncertain,   // an attempt has ended without a word, and may have had its effect
  kRefused,     // without a usable id, or by the handler
};
inline constexpr size_t kReplayWords = static_cast<size_t>(ReplayWord::kRefused) + 1;
std::string_view ToString(ReplayWord word);

struct ReplayCounts {
  std::array<int64_t, kReplayWords> words{};
  int64_t before_history = 0;  // among kApplies
  int64_t operator[](ReplayWord word) const { return words[static_cast<size_t>(word)]; }
  int64_t messages() const;
  ReplayCounts& operator+=(const ReplayCounts& more);
};

// By topic and day of the record, in days since 1970 (UTC).
inline constexpr int64_t kNoReplayDay = -1;  // of a record without a time
using ReplayTable = std::map<std::pair<std::string, int64_t>, ReplayCounts>;

Result<ReplaySet> FreezeReplay(const RuntimeOptions& options, const ReplayRequest& request,
                               milliseconds within);

Result<ReplayTable> JudgeReplay(const RuntimeOptions& options, const ReplaySet& set, Window& window,
                                std::stop_token stop);

}  // namespace oncemq
