// SPDX-License-Identifier: Apache-2.0
#include "sim_disk.h"

namespace oncemq::sim {
namespace {

void Apply(const StoreBatch& batch, StoreState& state) {
  for (const auto& change : batch) {
    change(state);
  }
}

}  // namespace

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
