// SPDX-License-Identifier: Apache-2.0
// StoreStat: what a window keeps in one store on disk, in numbers, for people. Never the base of a
// decision to run.
//
// Thread safety: none needed, values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oncemq/dedup/window.h"

namespace oncemq {

// One partition whose ids are, or were, in the store.
struct PartitionStat {
  uint32_t source = 0;
  int32_t partition = 0;
  OwnerEpoch owner_epoch = 0;      // issued last
  int64_t frontier = -1;           // of the last acknowledged commit that it was told; -1: of none
  LogTime watermark = kNoLogTime;  // log time there
  int64_t known_from = 0;          // as in StoreKnowledge
  int64_t known_to = 0;
  int64_t announced = -1;
  bool pins = false;  // nothing is forgotten that it has not passed: no other is further behind
};

struct StoreStat {
  std::string directory;
  std::string error;     // why nothing else is known of it; empty: all of this is
  std::string topic;     // whose partition has the store to itself; empty: it is not told
  std::string identity;  // whom it belongs to, as it was opened
  Level level = Level::kGuarded;
  uint64_t incarnation = 0;  // of its last opening
  uint64_t recent = 0;       // finished ids in memory
  uint64_t history = 0;      // and in buckets on disk
  uint64_t buckets = 0;
  // Since the opening: how often several buckets became one, or should have; and how many pages of
  // the history were read for ids that were looked for: those that were known, and the others.
  uint64_t merges = 0;
  uint64_t merges_failed = 0;
  uint64_t known = 0;
  uint64_t known_pages = 0;
  uint64_t fresh = 0;
  uint64_t fresh_pages = 0;
  uint64_t open = 0;
  uint64_t parked = 0;
  uint64_t memory_bytes = 0;  // of ids and filters, without RocksDB's own
  uint64_t disk_bytes = 0;
  RememberTimes remembers;       // in force
  LogTime horizon = kNoLogTime;  // ids of records before it may be forgotten; kNoLogTime: none is
  std::vector<PartitionStat> partitions;
};

}  // namespace oncemq
