// SPDX-License-Identifier: Apache-2.0
#include "sim_disk.h"

#include <algorithm>

namespace oncemq::sim {
namespace {

void Apply(const StoreBatch& batch, StoreState& state) {
  for (const auto& change : batch) {
    change(state);
  }
}

}  // namespace

const DoneRow* StoreState::Find(std::string_view id, bool* damaged) const {
  for (auto bucket = buckets.rbegin(); bucket != buckets.rend(); ++bucket) {
    const auto rows = pages.find(bucket->first);
    if (rows == pages.end()) {
      if (damaged != nullptr) {
        *damaged = true;
      }
      continue;
    }
    if (const auto row = rows->second.find(id); row != rows->second.end()) {
      return &row->second;
    }
  }
  return nullptr;
}

void StoreState::Put(const std::string& id, const DoneRow& row, size_t most) {
  present += pages[present].size() >= most ? 1 : 0;
  pages[present].insert_or_assign(id, row);
  Bucket& bucket = buckets[present];
  bucket.newest = std::max(bucket.newest, row.time);
  bucket.reach = std::max(bucket.reach, row.at.offset);
}

void SimStoreFile::DropPages(const std::vector<uint32_t>& buckets) {
  for (const uint32_t number : buckets) {
    synced_.pages.erase(number);
    now_.pages.erase(number);
  }
}

void SimStoreFile::Write(StoreBatch batch, bool sync) {
  Apply(batch, now_);
  tail_.push_back(std::move(batch));
  if (sync) {
    Sync();
  }
}

void SimStoreFile::Sync() {
  for (const StoreBatch& batch : tail_) {
    Apply(batch, synced_);
  }
  tail_.clear();
}

bool SimStoreFile::PowerLoss(Rng& rng) {
  const size_t kept = rng.Below(tail_.size() + 1);
  const bool lost = kept < tail_.size();
  tail_.resize(kept);
  Sync();
  now_ = synced_;
  return lost;
}

bool SimStoreFile::PutBack() {
  if (copy_) {
    Become(*copy_);
  }
  return copy_.has_value();
}

void SimStoreFile::Become(const StoreState& state) {
  synced_ = now_ = state;
  tail_.clear();
}

void SimDisk::Died(ActorId who) {
  for (SimStoreFile& store : stores_) {
    if (store.holder() == who) {
      store.Hold(kWorld);
    }
  }
}

bool SimDisk::PowerLoss() {
  bool lost = false;
  for (SimStoreFile& store : stores_) {
    lost |= store.PowerLoss(rng_);
  }
  return lost;
}

}  // namespace oncemq::sim
