// SPDX-License-Identifier: Apache-2.0
// SimMember: a client of the group as librdkafka is one: joins, heart-beats in the background,
// tells its shell what was assigned, revoked and lost, and joins again when everything revoked has
// been given back.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "surroundings.h"

namespace oncemq::sim {

class MemberShell {
 public:
  virtual ~MemberShell() = default;
  virtual void OnAssigned(int32_t partition, uint32_t term) = 0;
  virtual void OnRevoke(const std::vector<int32_t>& partitions) = 0;  // answer each with GaveBack
  virtual void OnLost(const std::vector<int32_t>& partitions) = 0;
  virtual void OnLeft() = 0;  // after Close
};

class SimMember {
 public:
  SimMember(ActorId actor, Surroundings& world, MemberShell& shell);

  void Start();
  void Close();
  void GaveBack(int32_t partition);
  // Tells the shell of no new assignment from now on, until it has left.
  void Refuse() { refusing_ = true; }
  // Leaves without a word about what it owns, and joins as a new member. The shell has given
  // everything up.
  void LeaveAndRejoin();

  // Whether a request of that member and generation is not of the present: the group is about to
  // move on, or has.
  bool OutOfDate(MemberId member, uint32_t generation) const {
    return id_ != member || joining_ || generation != generation_;
  }
  // We are out of the group, whatever we still believed.
  void LoseAll();

  MemberId id() const { return id_; }
  uint32_t generation() const { return generation_; }
  const std::set<int32_t>& owned() const { return owned_; }

 private:
  void Join();
  void OnJoined(const Joined& joined);
  void BeatLater();
  void BeatNow();
  void OnBeat(MemberId asked, uint32_t generation, Beat beat);
  void RevokeAll(const std::vector<int32_t>& partitions);

  const ActorId actor_;
  Surroundings& world_;
  MemberShell& shell_;
  MemberId id_ = 0;
  uint32_t generation_ = 0;
  std::set<int32_t> owned_;
  std::set<int32_t> revoking_;
  bool joining_ = false;
  bool closing_ = false;
  bool refusing_ = false;
  uint64_t join_number_ = 0;
  Micros last_answer_ = 0;
};

}  // namespace oncemq::sim
