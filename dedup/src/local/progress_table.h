// SPDX-License-Identifier: Apache-2.0
// ProgressTable: how far each partition of a local store has come, and what may therefore be
// forgotten: nothing that a copy could still meet in the slowest of them (rules 22, 24).
//
// Thread safety: none; the window that owns it locks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "oncemq/dedup/window.h"
#include "reach.h"

namespace oncemq {

class ProgressTable {
 public:
  // A partition that is owned here pins everything until it has told its progress.
  void Register(uint32_t source, int32_t partition) {
    partitions_.try_emplace({source, partition});
    Update();
  }
  void Note(const Progress& progress) {
    Position& position = partitions_[{progress.source, progress.partition}];
    position = {progress.frontier, progress.watermark,
                std::max(position.latest, progress.watermark)};
    Update();
  }

  // Log time of the partition that is furthest behind; nothing while one of them is not known, or
  // there is none.
  std::optional<LogTime> Watermark() const { return watermark_; }
  // The highest since the opening: after a new assignment one old stamp may tell a lower one.
  // kNoLogTime: not known.
  LogTime LatestWatermarkOf(uint32_t source, int32_t partition) const;
  bool Passed(const Reach& reach) const;

  struct Position {
    int64_t frontier = -1;
    LogTime watermark = kNoLogTime;
    LogTime latest = kNoLogTime;
  };
  using Positions = std::map<std::pair<uint32_t, int32_t>, Position>;
  const Positions& positions() const { return partitions_; }

  static std::string RowOf(const Progress& progress);
  // False: the row is damaged.
  bool Load(std::string_view key, std::string_view row);

 private:
  void Update();

  Positions partitions_;
  std::optional<LogTime> watermark_;
};

}  // namespace oncemq
