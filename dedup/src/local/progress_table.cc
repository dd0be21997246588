// SPDX-License-Identifier: Apache-2.0
#include "progress_table.h"

#include <algorithm>

#include "families.h"
#include "oncemq/base/mutant.h"

namespace oncemq {
namespace {

constexpr uint64_t kRowVersion = 1;

}  // namespace

std::optional<LogTime> ProgressTable::Watermark() const {
  std::optional<LogTime> lowest;
  for (const auto& [partition, position] : partitions_) {
    if (position.watermark == kNoLogTime) {
      if (ONCEMQ_MUTANT("silent-partition-pins-nothing")) {
        continue;
      }
      return std::nullopt;
    }
    const bool lower = ONCEMQ_MUTANT("fastest-partition-decides")
                           ? lowest && position.watermark > *lowest
                           : lowest && position.watermark < *lowest;
    if (!lowest || lower) {
      lowest = position.watermark;
    }
  }
  return lowest;
}

bool ProgressTable::Passed(const Reach& reach) const {
  return std::all_of(reach.tops().begin(), reach.tops().end(), [&](const Coordinates& top) {
    const auto found = partitions_.find({top.source, top.partition});
    return (found != partitions_.end() && top.offset < found->second.frontier) ||
           ONCEMQ_MUTANT("forgets-above-frontier");
  });
}

std::string ProgressTable::KeyOf(const Progress& progress) {
  std::string key(kProgressPrefix);
  AppendKey(key, progress.source, 4);
  AppendKey(key, static_cast<uint32_t>(progress.partition), 4);
  return key;
}

std::string ProgressTable::RowOf(const Progress& progress) {
  std::string row;
  AppendVarint(row, kRowVersion);
  AppendVarint(row, static_cast<uint64_t>(progress.frontier));
  const int64_t watermark = progress.watermark.time_since_epoch().count();
  AppendVarint(row, progress.watermark == kNoLogTime
                        ? 0
                        : static_cast<uint64_t>(std::max<int64_t>(watermark, 0)) + 1);
  return row;
}

bool ProgressTable::Load(std::string_view key, std::string_view row) {
  const auto source = ReadKey(key, kProgressPrefix.size(), 4);
  const auto partition = ReadKey(key, kProgressPrefix.size() + 4, 4);
  ByteReader reader(row);
  const auto version = reader.Varint();
  const auto frontier = reader.Varint();
  const auto watermark = reader.Varint();
  if (!source || !partition || version != kRowVersion || !frontier || *frontier > INT64_MAX ||
      !watermark || *watermark > INT64_MAX || !reader.empty()) {
    return false;
  }
  Position& position = partitions_[{static_cast<uint32_t>(*source),
                                    static_cast<int32_t>(static_cast<uint32_t>(*partition))}];
  position.frontier = static_cast<int64_t>(*frontier);
  position.watermark =
      *watermark == 0 ? kNoLogTime : LogTime(milliseconds(static_cast<int64_t>(*watermark - 1)));
  return true;
}

}  // namespace oncemq
