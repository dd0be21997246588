// SPDX-License-Identifier: Apache-2.0
#include "oncemq/ordering/running_ids.h"

#include "oncemq/base/check.h"

namespace oncemq {

RunningIds::RunningIds() : table_(kFirstEntries), mask_(kFirstEntries - 1) {}

RunningIds::Entry* RunningIds::Find(uint64_t hash) {
  for (size_t i = hash & mask_; table_[i].holder != kNoIndex; i = (i + 1) & mask_) {
    if (table_[i].hash == hash) {
      return &table_[i];
    }
  }
  return nullptr;
}

void RunningIds::Hold(uint64_t hash, uint32_t holder) {
  ONCEMQ_CHECK(holder != kNoIndex, "kNoIndex marks a free place");
  if (size_ * 4 >= table_.size()) {
    Grow();
  }
  size_t i = hash & mask_;
  while (table_[i].holder != kNoIndex) {
    ONCEMQ_CHECK(table_[i].hash != hash, "an id is held once");
    i = (i + 1) & mask_;
  }
  table_[i] = {hash, holder, {}};
  size_++;
}

void RunningIds::Grow() {
  std::vector<Entry> old(table_.size() * 2);
  old.swap(table_);
  mask_ = table_.size() - 1;
  for (const Entry& entry : old) {
    if (entry.holder == kNoIndex) {
      continue;
    }
    size_t i = entry.hash & mask_;
    while (table_[i].holder != kNoIndex) {
      i = (i + 1) & mask_;
    }
    table_[i] = entry;
  }
}

LaneList RunningIds::Release(uint64_t hash) {
  size_t hole = hash & mask_;
  while (table_[hole].hash != hash || table_[hole].holder == kNoIndex) {
    ONCEMQ_CHECK(table_[hole].holder != kNoIndex, "only a held id is released");
    hole = (hole + 1) & mask_;
  }
  const LaneList waiting = table_[hole].waiting;
  for (size_t i = (hole + 1) & mask_; table_[i].holder != kNoIndex; i = (i + 1) & mask_) {
    const size_t home = table_[i].hash & mask_;
    if (((i - home) & mask_) >= ((i - hole) & mask_)) {
      table_[hole] = table_[i];
      hole = i;
    }
  }
  table_[hole] = Entry{};
  size_--;
  return waiting;
}

}  // namespace oncemq
