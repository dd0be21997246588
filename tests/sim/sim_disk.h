// SPDX-License-Identifier: Apache-2.0
// SimDisk: the disk of one simulated host, with a store for each partition. A store is a log of
// batches: what was written is there for every process of the host, what was synced is there after
// a power loss too. A power loss takes an end of the log that was not synced, whole batches at a
// time, as tests/disk proves for the real one.
//
// Thread safety: none.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "event_loop.h"
#include "marker_table.h"
#include "oncemq/dedup/window.h"
#include "rng.h"

namespace oncemq::sim {

// What is kept of a finished id.
struct DoneRow {
  Coordinates at;
  Token token;
  uint32_t fingerprint = 0;
  std::string result;
  LogTime time = kNoLogTime;
};

// Finished ids are forgotten by whole buckets. What is known of one is a row like others; its pages
// are files, which go at once and for ever, whatever becomes of the rows.
struct Bucket {
  LogTime newest = LogTime::min();
  int64_t reach = -1;  // highest offset
};

struct StoreState {
  std::map<uint32_t, Bucket> buckets;
  std::map<uint32_t, std::map<std::string, DoneRow, std::less<>>> pages;  // by bucket
  uint32_t present = 0;                                                   // the bucket being filled
  std::map<std::string, Marker, std::less<>> kept;  // open or parked, and meant to outlive
  std::map<std::string, std::string, std::less<>> effects;
  std::string owner;  // who it was made for; empty: nobody has opened it yet
  uint64_t incarnation = 0;
  std::vector<uint64_t> earlier;  // oldest first
  OwnerEpoch owner_epoch = 0;
  LogTime horizon = LogTime::min();
  // The row of the last announcement.
  int64_t from = 0;
  int64_t to = 0;
  int64_t offset = -1;
  std::string metadata;

  // The row of a finished id; nullptr: there is none. `damaged`: pages of a bucket are missing.
  const DoneRow* Find(std::string_view id, bool* damaged = nullptr) const;
  // Into the present bucket, or a new one where that has `most` rows.
  void Put(const std::string& id, const DoneRow& row, size_t most);
};

using StoreBatch = std::vector<std::function<void(StoreState&)>>;

class SimStoreFile {
 public:
  const StoreState& now() const { return now_; }
  ActorId holder() const { return holder_; }
  void Hold(ActorId who) { holder_ = who; }

  void Write(StoreBatch batch, bool sync);
  void Sync();
  void DropPages(const std::vector<uint32_t>& buckets);
  // The host is off for a moment. True: something was lost.
  bool PowerLoss(Rng& rng);

  // An operator's acts, while nobody holds it.
  void Copy() { copy_ = now_; }
  bool PutBack();  // false: there is no copy
  void Remove() { Become({}); }
  void Rewrite(const std::function<void(StoreState&)>& change) {
    StoreState state = now_;
    change(state);
    Become(state);
  }

 private:
  void Become(const StoreState& state);

  StoreState synced_;
  std::vector<StoreBatch> tail_;  // behind it
  StoreState now_;                // both together
  std::optional<StoreState> copy_;
  ActorId holder_ = kWorld;  // nobody
};

class SimDisk {
 public:
  SimDisk(size_t partitions, uint64_t seed) : stores_(partitions), rng_(seed, "disk") {}

  SimStoreFile& At(int32_t partition) { return stores_[static_cast<size_t>(partition)]; }
  std::vector<SimStoreFile>& stores() { return stores_; }
  // A process is gone: so are its locks.
  void Died(ActorId who);
  bool PowerLoss();

 private:
  std::vector<SimStoreFile> stores_;
  Rng rng_;
};

}  // namespace oncemq::sim
