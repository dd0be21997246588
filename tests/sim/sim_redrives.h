// SPDX-License-Identifier: Apache-2.0
// SimRedrives: a process's side of the park topic, with the product's own book. It does what
// Redrives and ParkWatch do in the runtime.
//
// Thread safety: none.
#pragma once

#include <deque>
#include <functional>
#include <set>
#include <vector>

#include "oncemq/framework/core.h"
#include "surroundings.h"

namespace oncemq::sim {

class SimRedrives {
 public:
  // `wake`: there is something to admit.
  SimRedrives(ActorId actor, Surroundings& world, std::function<void()> wake);

  // False: nothing of the partition may be admitted yet. The first call of an assignment begins it,
  // with an owner record to be read back.
  bool Known(int32_t partition, Core& core);
  void End(int32_t partition);

  struct Due {
    int64_t offset = 0;
    bool drop = false;
    bool first = false;
    bool called = false;
    bool begun = false;
    OwnerEpoch owner = 0;  // of the assignment
  };
  void Read(int32_t partition, size_t most, const Core& core, std::vector<Due>& due);
  // The delivery of a redriven message is over.
  void TakeBack(int32_t partition, int64_t offset, OwnerEpoch owner);

  // The owner that began the assignment of a message taken under `owner`.
  OwnerEpoch BegunAs(int32_t partition, OwnerEpoch owner) const;
  void Recorded(int32_t partition, int64_t last);

 private:
  struct Partition {
    OwnerEpoch owner = 0;  // of the assignment; 0: none
    bool ready = false;
    bool known = false;  // by the core
    ParkBook book;
    std::deque<Due> held;
    int64_t last_place = -1;      // of this process's records
    std::set<OwnerEpoch> owners;  // that have begun here
  };

  void WriteOwner(int32_t partition, OwnerEpoch owner);
  void Hear(int32_t partition, OwnerEpoch owner, size_t end);
  void Hold(int32_t partition);
  Partition& At(int32_t partition) { return partitions_[static_cast<size_t>(partition)]; }

  const ActorId actor_;
  Surroundings& world_;
  const std::function<void()> wake_;
  std::vector<Partition> partitions_;
};

}  // namespace oncemq::sim
