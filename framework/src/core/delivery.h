// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "oncemq/framework/batch.h"
#include "oncemq/ordering/lanes.h"

namespace oncemq {

// One delivery in the slab. (slot, ticket) names it: the ticket changes with every reuse of the
// slot, so that a settlement that comes late can't hit a stranger. The epoch says which assignment
// it belongs to.
struct Delivery {
  void* message = nullptr;
  const char* id = nullptr;
  uint64_t id_hash = 0;
  uint64_t token = 0;  // attempt half of the token, 0 for none
  int64_t offset = 0;
  LogTime time = kNoLogTime;
  uint32_t next = kNoIndex;  // LaneTable's
  uint32_t lane = kNoIndex;  // LaneTable's
  uint32_t ticket = 0;
  uint32_t epoch = 0;
  uint32_t arrival = 0;  // Frontier's
  uint32_t bytes = 0;
  uint32_t fingerprint = 0;
  PartitionId partition = 0;
  uint16_t id_size = 0;
  uint16_t attempt = 0;
  uint16_t raise = 0;  // of the partition's ownership, under which it was last taken; wraps around
  Carried carried;
  bool finished : 1 = false;
  bool running : 1 = false;
  bool holds_id : 1 = false;
  bool alone : 1 = false;  // runs with nothing else
  bool again : 1 = false;  // Frontier's: another arrival speaks for the offset

  std::string_view id_view() const { return {id, id_size}; }
};
static_assert(sizeof(Delivery) == 88);

}  // namespace oncemq
