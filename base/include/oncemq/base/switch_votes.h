// SPDX-License-Identifier: Apache-2.0
// SwitchVotes: the living processes, and their votes to leave the store in force. Every process
// raises a beat of its own, and says its vote. Another one lives while its beat moves. Without I/O.
//
// V1  A switch without an order takes the votes of more than half of the living.
// V2  A vote is for leaving the store of one epoch, and counts in no other.
// V3  A process that was never seen to move lives, until it was watched for a configuration lease:
//     the dead make a quorum harder to reach, never easier.
// V4  A switch leads to a store that has just answered its beginner. Without such a store none
//     begins. It is ended by a process that its target has just answered. If there is none for a
//     configuration lease, it is called off.
// V5  A process without calls asks the store in force a question in each turn.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"

namespace oncemq {

struct SwitchBeat {
  uint64_t beat = 0;
  uint32_t leaves = 0;  // the epoch whose store it wants to leave; 0: none
};

std::string Format(const SwitchBeat& beat);
Result<SwitchBeat> ParseSwitchBeat(std::string_view text);

class SwitchVotes {
 public:
  explicit SwitchVotes(milliseconds lease) : lease_(lease) {}

  // All that is said at a time; who is not in it is forgotten.
  void Heard(const std::map<std::string, SwitchBeat>& said, BootTime now);
  // V1, V2.
  bool Quorum(uint32_t epoch, BootTime now) const;
  size_t living(BootTime now) const;
  // Those who have been silent for so long that what they said may be thrown away.
  std::vector<std::string> Dead(BootTime now) const;

 private:
  struct Voter {
    SwitchBeat beat;
    BootTime moved_at;
  };
  bool Lives(const Voter& voter, BootTime now) const { return now - voter.moved_at < lease_; }

  const milliseconds lease_;
  std::map<std::string, Voter> voters_;
};

}  // namespace oncemq
