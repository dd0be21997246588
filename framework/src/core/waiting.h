// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "oncemq/base/check.h"
#include "oncemq/base/clock.h"
#include "oncemq/framework/core.h"

namespace oncemq {

// Waiting lanes, and the messages in them.
//
//   Add(lane)              a lane without a record; then Join() for each of its messages
//   Join, Leave            a message is appended to a lane with a record, or leaves it
//   Begin(lane)            its head asked for a pause for the first time
//   Pause(lane, due)       each pause; ends with PopDue(), or early with Cut()
//   End(lane)              this head has left; Cut() does it, too
//
// **Promise:** a message counts as waiting from the first pause of its lane's head until this head
// is through, also while the head is tried again.
//
// **Limits:** one record for each lane up to the highest waiting one. A lane is walked once.
//
// **Thread safety:** none; lives inside the core.
class Waiting {
 public:
  struct Load {
    uint32_t messages = 0;
    uint64_t bytes = 0;
    void operator+=(const Load& more) {
      messages += more.messages;
      bytes += more.bytes;
    }
    void operator-=(const Load& gone) {
      ONCEMQ_CHECK(messages >= gone.messages && bytes >= gone.bytes, "each waiting one is counted");
      messages -= gone.messages;
      bytes -= gone.bytes;
    }
  };

  explicit Waiting(const WaitingOptions& budget) : budget_(budget) {}

  void Add(uint32_t lane, PartitionId partition) {
    records_.resize(std::max<size_t>(records_.size(), lane + 1));
    partitions_.resize(std::max<size_t>(partitions_.size(), partition + 1));
    records_[lane] = {.partition = partition};
  }
  void Join(uint32_t lane, const Load& load) {
    records_[lane].load += load;
    if (records_[lane].waits) {
      partitions_[records_[lane].partition] += load;
      all_ += load;
    }
  }
  void Leave(uint32_t lane, const Load& load) {
    records_[lane].load -= load;
    if (records_[lane].waits) {
      partitions_[records_[lane].partition] -= load;
      all_ -= load;
    }
  }
  bool Waits(uint32_t lane) const { return records_[lane].waits; }
  void Begin(uint32_t lane, BootTime now) {
    Record& record = records_[lane];
    ONCEMQ_CHECK(!record.waits, "a wait begins once");
    record.waits = true;
    record.since = now;
    partitions_[record.partition] += record.load;
    all_ += record.load;
  }
  void End(uint32_t lane) {
    Record& record = records_[lane];
    ONCEMQ_CHECK(record.waits, "a wait ends once");
    record.waits = false;
    partitions_[record.partition] -= record.load;
    all_ -= record.load;
  }

  // `fails`: its head may be refused before it is due, where WaitingOptions::park says so.
  void Pause(uint32_t lane, BootTime due, bool fails) {
    records_[lane].due = due;
    due_.emplace(due, lane);
    if (fails && budget_.park) {
      longest_.emplace(records_[lane].since, lane);
    }
  }
  std::optional<uint32_t> PopDue(BootTime now) {
    if (due_.empty() || due_.begin()->first > now) {
      return std::nullopt;
    }
    const uint32_t lane = due_.begin()->second;
    due_.erase(due_.begin());
    longest_.erase({records_[lane].since, lane});
    return lane;
  }
  // Over the budget: ends the longest wait of a failing lane.
  std::optional<uint32_t> Cut() {
    if (!used_up() || longest_.empty()) {
      return std::nullopt;
    }
    const uint32_t lane = longest_.begin()->second;
    longest_.erase(longest_.begin());
    due_.erase({records_[lane].due, lane});
    End(lane);
    return lane;
  }
  // Forgets the pauses of lanes for which gone(lane) holds.
  template <class Gone>
  void RemoveIf(Gone gone) {
    std::erase_if(due_, [&](const Entry& entry) {
      const uint32_t lane = entry.second;
      const bool is_gone = gone(lane);
      if (is_gone) {
        longest_.erase({records_[lane].since, lane});
      }
      return is_gone;
    });
  }
  // The end of its last pause.
  BootTime DueOf(uint32_t lane) const { return records_[lane].due; }
  std::optional<BootTime> NextDue() const {
    return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
  }

  bool used_up() const { return all_.messages >= budget_.messages || all_.bytes >= budget_.bytes; }
  const Load& all() const { return all_; }
  Load of(PartitionId partition) const {
    return partition < partitions_.size() ? partitions_[partition] : Load();
  }

 private:
  struct Record {
    BootTime since{};
    BootTime due{};
    Load load{};
    PartitionId partition = 0;
    bool waits = false;
  };

  // By time, then by lane: a trace must not depend on what was here before.
  using Entry = std::pair<BootTime, uint32_t>;

  const WaitingOptions budget_;
  std::set<Entry> due_;          // one for each lane in a pause
  std::set<Entry> longest_;      // of these, failing lanes, by the begin of their wait
  std::vector<Record> records_;  // by lane
  std::vector<Load> partitions_;
  Load all_;
};

}  // namespace oncemq
