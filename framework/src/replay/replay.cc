// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/replay.h"

#include <numeric>
#include <string_view>

#include "oncemq/base/bytes.h"
#include "oncemq/base/hash.h"

namespace oncemq {
namespace {

void AppendField(std::string& bytes, std::string_view text) {
  AppendVarint(bytes, text.size());
  bytes += text;
}

void AppendField(std::string& bytes, int64_t number) {
  AppendVarint(bytes, static_cast<uint64_t>(number));
}

}  // namespace

std::string_view ToString(ReplayWord word) {
  switch (word) {
    case ReplayWord::kApplies:
      return "applies";
    case ReplayWord::kSuppressed:
      return "suppressed";
    case ReplayWord::kInFlight:
      return "in_flight";
    case ReplayWord::kOutside:
      return "outside";
    case ReplayWord::kParked:
      return "parked";
    case ReplayWord::kConflict:
      return "conflict";
    case ReplayWord::kUncertain:
      return "uncertain";
    case ReplayWord::kRefused:
      return "refused";
  }
  return "?";
}

int64_t ReplayCounts::messages() const {
  return std::accumulate(words.begin(), words.end(), int64_t{0});
}

ReplayCounts& ReplayCounts::operator+=(const ReplayCounts& more) {
  for (size_t i = 0; i < words.size(); i++) {
    words[i] += more.words[i];
  }
  before_history += more.before_history;
  return *this;
}

uint64_t ReplaySet::Digest() const {
  std::string bytes;
  AppendField(bytes, id);
  AppendField(bytes, cluster);
  AppendField(bytes, owner);
  AppendField(bytes, frozen_ms);
  AppendField(bytes, static_cast<int64_t>(ranges.size()));
  for (const ReplayRange& range : ranges) {
    AppendField(bytes, range.topic);
    AppendField(bytes, int64_t{range.partition});
    for (const int64_t offset : {range.from, range.to, range.frontier, range.since}) {
      AppendField(bytes, offset);
    }
  }
  return StableHash(bytes);
}

}  // namespace oncemq
