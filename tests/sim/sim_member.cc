// SPDX-License-Identifier: Apache-2.0
#include "sim_member.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace oncemq::sim {

SimMember::SimMember(ActorId actor, Surroundings& world, MemberShell& shell)
    : actor_(actor), world_(world), shell_(shell) {}

void SimMember::Start() {
  Join();
  BeatLater();
}

void SimMember::Join() {
  joining_ = true;
  const uint64_t number = ++join_number_;
  const std::vector<int32_t> owned(owned_.begin(), owned_.end());
  world_.network.ToBroker(actor_, [this, number, owned, actor = actor_, id = id_, &world = world_] {
    world.broker.Join(id, actor, owned, [this, number, actor, &world](const Joined& joined) {
      // `this` is used in events of the actor only: it may be gone by now.
      world.network.ToClient(actor, [this, number, joined] {
        if (number == join_number_) {
          OnJoined(joined);
        }
      });
    });
  });
  // The group may need long; asking again keeps the place in it, should the first request be lost.
  world_.loop.Plan(actor_, 2 * world_.config.call_timeout, [this, number] {
    if (joining_ && number == join_number_) {
      Join();
    }
  });
}

void SimMember::OnJoined(const Joined& joined) {
  joining_ = false;
  if (joined.member == 0) {
    LoseAll();
    return;
  }
  id_ = joined.member;
  generation_ = joined.generation;
  last_answer_ = world_.loop.now();
  std::vector<int32_t> gone;
  std::set_difference(owned_.begin(), owned_.end(), joined.partitions.begin(),
                      joined.partitions.end(), std::back_inserter(gone));
  for (size_t i = 0; i < joined.partitions.size(); i++) {
    if (owned_.insert(joined.partitions[i]).second && !refusing_) {
      shell_.OnAssigned(joined.partitions[i], joined.terms[i]);
    }
  }
  if (!gone.empty()) {
    RevokeAll(gone);
  }
}

void SimMember::RevokeAll(const std::vector<int32_t>& partitions) {
  revoking_.insert(partitions.begin(), partitions.end());
  shell_.OnRevoke(partitions);
}

void SimMember::GaveBack(int32_t partition) {
  owned_.erase(partition);
  if (revoking_.erase(partition) == 0 || !revoking_.empty()) {
    return;
  }
  if (closing_) {
    world_.network.ToBroker(actor_, [id = id_, &world = world_] { world.broker.Leave(id); });
    id_ = 0;
    shell_.OnLeft();
  } else {
    Join();
  }
}

void SimMember::LeaveAndRejoin() {
  world_.network.ToBroker(actor_, [id = id_, &world = world_] { world.broker.Leave(id); });
  id_ = 0;
  owned_.clear();
  revoking_.clear();
  refusing_ = false;
  if (closing_) {
    shell_.OnLeft();
  } else {
    Join();
  }
}

void SimMember::Close() {
  closing_ = true;
  joining_ = false;
  join_number_++;
  if (!revoking_.empty()) {
    // Under way already; what is not being revoked yet follows.
    std::vector<int32_t> rest;
    std::set_difference(owned_.begin(), owned_.end(), revoking_.begin(), revoking_.end(),
                        std::back_inserter(rest));
    if (!rest.empty()) {
      RevokeAll(rest);
    }
  } else if (!owned_.empty()) {
    RevokeAll({owned_.begin(), owned_.end()});
  } else {
    LeaveAndRejoin();
  }
}

void SimMember::LoseAll() {
  const std::vector<int32_t> lost(owned_.begin(), owned_.end());
  owned_.clear();
  revoking_.clear();
  refusing_ = false;
  id_ = 0;
  shell_.OnLost(lost);
  if (closing_) {
    shell_.OnLeft();
  } else {
    Join();
  }
}

void SimMember::BeatLater() {
  world_.loop.Plan(actor_, world_.config.session / 8, [this] {
    BeatNow();
    BeatLater();
  });
}

void SimMember::BeatNow() {
  if (joining_ || id_ == 0) {
    return;
  }
  if (world_.loop.now() - last_answer_ > world_.config.session) {
    LoseAll();  // nobody has heard us for so long that we are out, whether somebody says so or not
    return;
  }
  world_.network.ToBroker(actor_, [this, actor = actor_, id = id_, generation = generation_,
                                   &world = world_] {
    const Beat beat = world.broker.Heartbeat(id, generation);
    world.network.ToClient(actor, [this, id, generation, beat] { OnBeat(id, generation, beat); });
  });
}

void SimMember::OnBeat(MemberId asked, uint32_t generation, Beat beat) {
  if (joining_ || asked != id_ || generation != generation_) {
    return;
  }
  if (beat == Beat::kUnknownMember) {
    LoseAll();
    return;
  }
  last_answer_ = world_.loop.now();
  if (beat == Beat::kFine || !revoking_.empty()) {
    return;
  }
  if (world_.config.cooperative == 0 && !owned_.empty()) {
    RevokeAll({owned_.begin(), owned_.end()});
  } else {
    Join();
  }
}

}  // namespace oncemq::sim
