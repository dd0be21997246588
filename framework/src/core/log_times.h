// SPDX-License-Identifier: Apache-2.0
// LogTimes: log time at a partition's frontier (rule 22). Producers stamp their records, so the
// stamps are not in order: a block of arrivals counts with the oldest of its records, once the
// frontier has passed all of it, and never for more than what has arrived behind it. A single stamp
// of the future moves nothing while there is a backlog, one of the past holds up its own block
// only.
//
// Memory: 24 bytes for each kBlock arrivals above the frontier.
//
// Thread safety: none; lives inside the core.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "oncemq/dedup/window.h"

namespace oncemq {

class LogTimes {
 public:
  void Start() {
    blocks_.clear();
    passed_ = reached_ = kNoLogTime;
  }

  // `arrivals` records up to the offset `last`; kNoLogTime: none of them has a stamp.
  void Note(int64_t last, LogTime oldest, uint32_t arrivals) {
    if (blocks_.empty() || blocks_.back().arrivals >= kBlock) {
      blocks_.push_back({last, oldest, arrivals});
      return;
    }
    Block& block = blocks_.back();
    block.last = std::max(block.last, last);  // a source that rewinds begins lower
    block.oldest = Older(block.oldest, oldest);
    block.arrivals += arrivals;
  }

  // Of everything below the frontier; never falls.
  LogTime At(int64_t frontier) {
    while (!blocks_.empty() && blocks_.front().last < frontier) {
      passed_ = std::max(passed_, blocks_.front().oldest);
      blocks_.pop_front();
    }
    LogTime now = passed_;
    for (const Block& block : blocks_) {
      now = Older(now, block.oldest);
    }
    reached_ = std::max(reached_, passed_ == kNoLogTime ? kNoLogTime : now);
    return reached_;
  }

 private:
  static constexpr uint32_t kBlock = 1024;
  struct Block {
    int64_t last;
    LogTime oldest;
    uint32_t arrivals;
  };
  static LogTime Older(LogTime one, LogTime other) {
    if (one == kNoLogTime || other == kNoLogTime) {
      return std::max(one, other);
    }
    return std::min(one, other);
  }

  std::deque<Block> blocks_;
  LogTime passed_ = kNoLogTime;   // the highest of the blocks that were passed
  LogTime reached_ = kNoLogTime;  // what was told last
};

}  // namespace oncemq
