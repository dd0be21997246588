// SPDX-License-Identifier: Apache-2.0
// The actions of the core, carried out. Each goes its own way as an event, so that a process may
// die having sent the first of them only.
#include "sim_process.h"

#include <utility>

namespace oncemq::sim {

void SimProcess::CarryOut() {
  actions_.clear();
  core_.TakeActions(actions_);
  Micros delay = 1;
  for (const Action& action : actions_) {
    world_.loop.Plan(actor_, delay++, [this, action, asked = world_.loop.now()] {
      requested_at_ = asked;
      std::visit([this](const auto& one) { Do(one); }, action);
    });
  }
}

void SimProcess::Do(const RaiseOwnerEpochAction& action) {
  const auto partition = static_cast<int32_t>(action.partition);
  const auto done = [this, action, partition](const Result<OwnerEpoch>& owner_epoch) {
    world_.history.Append({.time = world_.loop.now(),
                           .process = actor_,
                           .op = Op::kRaise,
                           .partition = partition,
                           .epoch = action.epoch,
                           .owner_epoch = owner_epoch ? *owner_epoch : 0});
    core_.OwnerEpochRaised(action.partition, action.epoch, owner_epoch, clock_.Boot());
    CarryOut();
    WakeIn(1);
  };
  if (PlacementOf(world_.config) == Placement::kNone) {
    done(OwnerEpoch{1});  // nobody issues ownerships, and nobody asks for them
  } else {
    window_->RaiseOwnerEpoch(actor_, partition, action.floor, done);
  }
}

void SimProcess::Do(const CommitAction& action) {
  if (stores_ && !Announced(action)) {
    return;
  }
  auto decoded = DecodeCommit(action.metadata, action.offset);
  if (!decoded) {
    world_.incident("our own commit metadata cannot be read: " + decoded.error().message);
    return;
  }
  world_.sometimes.Count(Situation::kAbandoned, !decoded->abandoned.empty());
  const int64_t number =
      world_.history.AddCommit({action.offset, std::move(*decoded), action.metadata});
  const CommitCall call{.process = actor_,
                        .member = member_.id(),
                        .generation = member_.generation(),
                        .partition = static_cast<int32_t>(action.partition),
                        .epoch = action.epoch,
                        .number = number};
  world_.history.Append({.time = world_.loop.now(),
                         .process = actor_,
                         .op = Op::kCommit,
                         .phase = Phase::kInvoke,
                         .partition = call.partition,
                         .epoch = action.epoch,
                         .offset = action.offset,
                         .owner_epoch = world_.history.commit(number).metadata.owner_epoch,
                         .value = number,
                         .aux = requested_at_});
  SendCommit(call, action.number, false);
}

// What the client library does with a commit, including what it does by itself.
void SimProcess::SendCommit(const CommitCall& call, uint64_t number, bool again) {
  const Config& config = world_.config;
  const auto draw = [&](int64_t rate) { return !world_.healed && !again && rng_.Chance(rate); };
  const auto unknown_later = [this, call, number] {
    world_.loop.Plan(actor_, world_.config.call_timeout,
                     [this, call, number] { Answer(call, number, CommitReply::kUnknown); });
  };
  if (draw(config.commit_unknown)) {
    world_.loop.Plan(actor_, world_.network.OneWay(),
                     [this, call, number] { Answer(call, number, CommitReply::kUnknown); });
    return;
  }
  if (draw(config.commit_retried)) {
    // The first attempt is lost on the way. The library tries again, as the member that it is by
    // then.
    world_.loop.Plan(actor_, rng_.Between(100 * kMilli, 3 * kSecond), [this, call, number] {
      CommitCall next = call;
      next.generation = member_.generation();
      if (member_.id() != call.member || call.member == 0) {
        return Answer(call, number, CommitReply::kUnknown);
      }
      SendCommit(next, number, true);
    });
    return;
  }
  const bool dropped = draw(config.commit_dropped) || world_.network.IsCut(actor_);
  const Micros wait = draw(config.commit_slow) ? rng_.Between(0, 4 * kSecond) : 0;
  const bool late = draw(config.commit_late);
  const bool lost = draw(config.commit_lost);
  if (dropped || late || lost) {
    unknown_later();
  }
  if (dropped) {
    return;
  }
  const Micros delay = late ? rng_.Between(1, 4) * config.call_timeout : world_.network.OneWay();
  const bool quiet = late || lost;
  world_.loop.Plan(kWorld, delay, [this, call, number, wait, quiet, &world = world_] {
    if (world.network.IsCut(call.process) && !quiet) {
      world.loop.Plan(call.process, world.config.call_timeout,
                      [this, call, number] { Answer(call, number, CommitReply::kUnknown); });
      return;
    }
    const bool accepted = world.broker.Commit(call);
    if (!quiet) {
      const Micros back = wait + world.network.OneWay();
      world.loop.Plan(call.process, back, [this, call, number, accepted] {
        Answer(call, number, accepted ? CommitReply::kAcknowledged : CommitReply::kRefused);
      });
    }
  });
}

void SimProcess::Answer(const CommitCall& call, uint64_t number, CommitReply reply) {
  const bool out_of_date = member_.OutOfDate(call.member, call.generation);
  if (reply == CommitReply::kRefused && out_of_date) {
    // The group has moved on while the commit was under way; whether we still own the partition, it
    // will tell us.
    world_.sometimes.Count(Situation::kCommitByOldGeneration, At(call.partition).assigned);
    reply = CommitReply::kUnknown;
  }
  world_.sometimes.Count(Situation::kCommitRefused, reply == CommitReply::kRefused);
  world_.sometimes.Count(Situation::kCommitUnknown, reply == CommitReply::kUnknown);
  world_.history.Append({.time = world_.loop.now(),
                         .process = actor_,
                         .op = Op::kAnswer,
                         .partition = call.partition,
                         .epoch = call.epoch,
                         .value = static_cast<int64_t>(reply)});
  if (stores_ && reply == CommitReply::kAcknowledged) {
    const PartitionId id = CoreId(call.partition);
    CommitFlight::Acknowledged(*stores_, id, number, core_.Status(id).owner_epoch);
  }
  core_.CommitAnswered(static_cast<PartitionId>(call.partition), number, reply, clock_.Boot());
  if (reply == CommitReply::kRefused && rng_.Chance(500)) {
    member_.LoseAll();  // some clients conclude it from the refusal, others wait for the next
                        // heartbeat
  }
  CarryOut();
  WakeIn(1);
}

void SimProcess::Do(const GiveBackAction& action) {
  const auto partition = static_cast<int32_t>(action.partition);
  Partition& state = At(partition);
  if (!state.in_core || core_.Status(action.partition).epoch != action.epoch) {
    return;  // lost in between
  }
  world_.history.Append({.time = world_.loop.now(),
                         .process = actor_,
                         .op = Op::kGiveBack,
                         .flag = action.leave_group,
                         .partition = partition,
                         .epoch = action.epoch});
  world_.sometimes.Count(Situation::kLeaveGroup, action.leave_group);
  world_.sometimes.Count(Situation::kDrainedInTime, !action.leave_group);
  state.in_core = false;
  redrives_.End(partition);
  EndCatchUp(partition);
  if (stores_) {
    CloseStore(partition);
  }
  state.in_doubt = action.leave_group;
  if (action.leave_group && !leaving_) {
    BeginLeaving();
  }
  if (leaving_ && NothingHeld()) {
    leaving_ = false;
    member_.LeaveAndRejoin();
  } else if (!state.in_doubt) {
    member_.GaveBack(partition);
  }
}

void SimProcess::Do(const StopAction& action) {
  world_.sometimes.Count(Situation::kStopped);
  At(static_cast<int32_t>(action.partition)).stopped = true;
  world_.history.Append({.time = world_.loop.now(),
                         .process = actor_,
                         .op = Op::kStop,
                         .partition = static_cast<int32_t>(action.partition),
                         .offset = action.offset});
}

}  // namespace oncemq::sim
