// SPDX-License-Identifier: Apache-2.0
// SimReplay: a second reader beside the group. It reads the very same records, with the very same
// coordinates, and owns nothing: whatever somebody holds, it has to wait for (rule 8).
//
// Thread safety: none.
#pragma once

#include <memory>
#include <vector>

#include "surroundings.h"

namespace oncemq::sim {

class SimReplay {
 public:
  SimReplay(ActorId actor, Surroundings& world, std::shared_ptr<SimWindow> window);

  void Start();
  bool ended() const { return left_.empty() && !busy_; }

 private:
  struct Delivery {
    int32_t partition;
    const LogRecord* record;
  };
  void Next(Micros delay);
  void Claim();
  void OnClaimed(const Status& status, const std::vector<ClaimAnswer>& answers);
  void Handle(bool uncertain);
  void Complete();
  Record RecordOf(Op op, Phase phase) const;

  const ActorId actor_;
  Surroundings& world_;
  const std::shared_ptr<SimWindow> window_;
  Rng rng_;
  std::vector<Delivery> left_;
  Delivery at_{};
  bool busy_ = false;
  uint32_t delivery_ = kNone;
  Token token_;
};

}  // namespace oncemq::sim
