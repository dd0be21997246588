// SPDX-License-Identifier: Apache-2.0
#include "progress_table.h"

#include <algorithm>

#include "families.h"
#include "sealed_row.h"

namespace oncemq {
namespace {

constexpr uint64_t kRowVersion = 1;

}  // namespace

void ProgressTable::Update() {
  watermark_.reset();
  std::optional<LogTime> lowest;
  for (const auto& [partition, position] : partitions_) {
    if (position.watermark == kNoLogTime) {
      return;
    }
    const bool lower = lowest && position.watermark < *lowest;
    if (!lowest || lower) {
      lowest = position.watermark;
    }
  }
  watermark_ = lowest;
}

LogTime ProgressTable::LatestWatermarkOf(uint32_t source, int32_t partition) const {
  const auto found = partitions_.find({source, partition});
  return found == partitions_.end() ? kNoLogTime : found->second.latest;
}

bool ProgressTable::Passed(const Reach& reach) const {
  return std::all_of(reach.tops().begin(), reach.tops().end(), [&](const Coordinates& top) {
    const auto found = partitions_.find({top.source, top.partition});
    return found != partitions_.end() && top.offset < found->second.frontier;
  });
}

std::string ProgressTable::RowOf(const Progress& progress) {
  const int64_t watermark = progress.watermark.time_since_epoch().count();
  return SealNumbers({kRowVersion, static_cast<uint64_t>(progress.frontier),
                      progress.watermark == kNoLogTime
                          ? 0
                          : static_cast<uint64_t>(std::max<int64_t>(watermark, 0)) + 1});
}

bool ProgressTable::Load(std::string_view key, std::string_view row) {
  const auto partition = ReadPartitionKey(key, kProgressPrefix);
  const auto numbers = UnsealNumbers<3>(row);
  if (!partition || !numbers) {
    return false;
  }
  const auto [version, frontier, watermark] = *numbers;
  if (version != kRowVersion || frontier > INT64_MAX || watermark > INT64_MAX) {
    return false;
  }
  const LogTime told =
      watermark == 0 ? kNoLogTime : LogTime(milliseconds(static_cast<int64_t>(watermark - 1)));
  partitions_[*partition] = {static_cast<int64_t>(frontier), told, told};
  Update();
  return true;
}

}  // namespace oncemq
