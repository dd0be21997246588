// SPDX-License-Identifier: Apache-2.0
#include "holder.h"

namespace oncemq {
namespace {

Holder HolderOfMessage(const HeldBy& held, Holder partition_waits_for) {
  switch (held.message.state) {
    case OpenState::kQueued:
      return partition_waits_for == Holder::kNone ? Holder::kTurn : partition_waits_for;
    case OpenState::kRunning:
      return held.with == Holder::kNone ? Holder::kTurn : held.with;
    case OpenState::kRetrying:
      return Holder::kHandler;
    case OpenState::kClaimed:
      // A store without an answer sends messages into the same pause.
      return partition_waits_for == Holder::kStore ? Holder::kStore : Holder::kIdClaimed;
    case OpenState::kOwed:
      return Holder::kStore;
    case OpenState::kStopped:
      return Holder::kStopped;
  }
  return Holder::kNone;
}

}  // namespace

std::string_view ToString(Holder holder) {
  switch (holder) {
    case Holder::kNone:
      return "none";
    case Holder::kHandler:
      return "handler";
    case Holder::kStore:
      return "store";
    case Holder::kLock:
      return "lock";
    case Holder::kCommit:
      return "commit";
    case Holder::kBroker:
      return "broker";
    case Holder::kIdClaimed:
      return "id_claimed";
    case Holder::kStopped:
      return "stopped";
    case Holder::kTurn:
      return "waiting";
  }
  return "?";
}

Holder HolderOf(const PartitionReport& one) {
  if (!one.stopped.empty()) {
    return Holder::kStopped;
  }
  if (one.oldest) {
    return HolderOfMessage(*one.oldest, one.waits_for);
  }
  if (one.waits_for != Holder::kNone) {
    return one.waits_for;
  }
  const bool unread = one.status.phase == PartitionPhase::kActive && one.status.counts.open == 0 &&
                      one.lag.value_or(0) > 0 && one.unmoved >= kUnreadAfter;
  return unread ? Holder::kBroker : Holder::kNone;
}

}  // namespace oncemq
