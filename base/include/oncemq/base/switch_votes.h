// SPDX-License-Identifier: Apache-2.0
// SwitchVotes: who lives, and how many of them want to leave the store in force. Every process says
// of itself a beat that it raises, and its vote. Whether another one lives is judged by one's own
// clock: it does as long as its beat moves. Without clock or I/O.
//
// V1  A switch that nobody ordered takes the votes of more than half of those who live.
// V2  A vote is for leaving the store of one epoch, and counts in no other.
// V3  Whoever was never seen to move lives, until it was watched for a configuration lease: what
//     the dead left behind makes a quorum harder to reach, never easier.
// V4  It leads to a store that has just answered whoever begins it. Who has an answer from none
//     begins nothing: a store that may come back is better than one that nobody reaches either. So
//     whichever switch it is, it is ended by somebody whom its target has just answered; if there
//     is nobody for a configuration lease, it is called off.
// V5  Who lives has an opinion: who makes no calls to the store in force asks it a question in each
//     turn, so that a process that has nothing to do keeps no quorum from those who have.
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
