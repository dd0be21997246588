// SPDX-License-Identifier: Apache-2.0
// The faults of a run, and the end of all faults.
#include <algorithm>

#include "world.h"

namespace oncemq::sim {

void World::Play(const Fault& fault) {
  if (surroundings_.healed) {
    return;
  }
  switch (fault.kind) {
    case FaultKind::kCrashAtStep:
    case FaultKind::kCrashInStep:
    case FaultKind::kCrashForgetting:
    case FaultKind::kPowerForgetting:
      armed_.push_back(fault);
      return;
    case FaultKind::kCompact:
      sometimes_.Count(Situation::kCleaned, broker_.Compact(static_cast<int32_t>(fault.partition)));
      return;
    case FaultKind::kRetain:
      sometimes_.Count(Situation::kCleaned,
                       broker_.Retain(static_cast<int32_t>(fault.partition), fault.value));
      return;
    case FaultKind::kWindowDown:
      if (shared_window_ != nullptr) {
        shared_window_->DownUntil(loop_.now() + fault.value);
      }
      return;
    case FaultKind::kRebalance:
      broker_.Reshuffle();
      return;
    case FaultKind::kReset:
      ResetOffset(fault);
      return;
    case FaultKind::kExpire:
    case FaultKind::kPutBack:
    case FaultKind::kReadUncommitted:
    case FaultKind::kRemove:
      if (!disks_.empty()) {
        ResetOffset(fault);
      }
      return;
    case FaultKind::kPowerLoss:
      PowerLoss(fault);
      return;
    case FaultKind::kCopyStore:
      for (SimDisk& disk : disks_) {
        disk.At(static_cast<int32_t>(fault.partition)).Copy();
      }
      return;
    default:
      Strike(fault, static_cast<size_t>(fault.slot));
  }
}

// What happens to one process.
void World::Strike(const Fault& fault, size_t index) {
  Slot& slot = slots_[index];
  if (slot.actor == kWorld || surroundings_.healed) {
    return;
  }
  switch (fault.kind) {
    case FaultKind::kCrash:
      Crash(index, fault.value);
      break;
    case FaultKind::kPause:
      loop_.Sleep(slot.actor, loop_.now() + fault.value);
      break;
    case FaultKind::kCut:
      network_.Cut(slot.actor, loop_.now() + fault.value);
      break;
    case FaultKind::kClose:
      slot.restart = fault.value;
      slot.process->Close();
      break;
    case FaultKind::kRewind:
      slot.process->Rewind(static_cast<int32_t>(fault.partition), fault.value);
      break;
    case FaultKind::kRebalance:
      broker_.Reshuffle();
      break;
    case FaultKind::kPowerLoss:
      PowerLoss(fault);
      break;
    default:
      break;
  }
}

// Everybody stops, half of them without a word; when the group is empty the operator commits and
// all start again.
void World::ResetOffset(const Fault& fault) {
  if (resetting_) {
    return;
  }
  resetting_ = true;
  for (size_t i = 0; i < slots_.size(); i++) {
    if (slots_[i].actor != kWorld && i % 2 == 0) {
      slots_[i].process->Close();
    } else {
      Crash(i, kMilli);
    }
  }
  DoReset(fault);
}

void World::DoReset(const Fault& fault) {
  const bool running = std::any_of(slots_.begin(), slots_.end(),
                                   [](const Slot& slot) { return slot.actor != kWorld; });
  if (running || !broker_.Empty()) {
    loop_.Plan(kWorld, 100 * kMilli, [this, fault] { DoReset(fault); });
    return;
  }
  Act(fault);
  resetting_ = false;
  for (size_t i = 0; i < slots_.size(); i++) {
    StartIn(i);
  }
}

// What is done while nobody runs.
void World::Act(const Fault& fault) {
  const auto partition = static_cast<int32_t>(fault.partition);
  const LogBounds bounds = broker_.Bounds(partition, loop_.now());
  if (fault.kind == FaultKind::kExpire) {
    return broker_.Expire(partition);
  }
  if (fault.kind == FaultKind::kReset || fault.kind == FaultKind::kCount) {
    const int64_t at = broker_.Committed(partition).offset.value_or(bounds.start);
    const int64_t to = fault.kind == FaultKind::kCount
                           ? fault.value
                           : bounds.start + (bounds.end - bounds.start) * fault.value / 1000;
    sometimes_.Count(to > at ? Situation::kOperatorForward : Situation::kOperatorBackward,
                     to != at && fault.kind == FaultKind::kReset);
    const bool unknown = std::all_of(disks_.begin(), disks_.end(), [&](SimDisk& disk) {
      return disk.At(partition).now().offset < 0;
    });
    return broker_.Reset(partition, to, unknown);
  }
  for (SimDisk& disk : disks_) {
    SimStoreFile& store = disk.At(partition);
    if (fault.kind == FaultKind::kRemove) {
      store.Remove();
    } else if (fault.kind == FaultKind::kReadUncommitted) {
      store.Rewrite([&](StoreState& state) { ReadUncommitted(partition, state); });
    } else {
      store.PutBack();
    }
  }
  history_.Append({.time = loop_.now(), .op = Op::kMoved, .partition = partition});
}

// What a process would have left there that hands aborted messages to its handler.
void World::ReadUncommitted(int32_t partition, StoreState& state) const {
  const auto committed = broker_.Committed(partition).offset;
  if (state.owner.empty() || !committed) {
    return;
  }
  state.owner += ", uncommitted";
  for (const LogRecord& record : log_.partitions[static_cast<size_t>(partition)].aborted) {
    if (record.offset < *committed) {
      state.Put(log_.ids[record.id], {.at = {0, partition, record.offset}}, kForgetsNothing);
    }
  }
}

// Where the refusal says that the store stands; without one, where the group does. A store that is
// somebody else's is taken away.
void World::Repair(int32_t partition) {
  repairs_--;
  const bool foreign = std::any_of(disks_.begin(), disks_.end(), [&](SimDisk& disk) {
    return disk.At(partition).now().owner.ends_with(", uncommitted");
  });
  if (foreign) {
    return ResetOffset({.kind = FaultKind::kRemove, .partition = partition});
  }
  const LogBounds bounds = broker_.Bounds(partition, loop_.now());
  const auto committed = broker_.Committed(partition).offset;
  const int64_t known = DiskOf(0).At(partition).now().offset;
  const int64_t store = known < 0 ? bounds.start : known;
  ResetOffset({.kind = FaultKind::kCount,
               .partition = partition,
               .value = IsAtomic(config_) ? store : committed.value_or(store)});
}

bool World::DiesForgetting(ActorId actor, int32_t partition, ForgetStep step) {
  const Slot* slot = SlotOf(actor);
  for (Fault& fault : armed_) {
    const bool power = fault.kind == FaultKind::kPowerForgetting;
    if (slot == nullptr || (!power && fault.kind != FaultKind::kCrashForgetting) ||
        fault.partition != partition || fault.value != static_cast<int64_t>(step)) {
      continue;
    }
    fault.kind = FaultKind::kCount;
    sometimes_.Count(Situation::kDiedForgetting);
    const auto index = slot - slots_.data();
    power ? PowerLoss({.slot = index, .value = 200 * kMilli})
          : Crash(static_cast<size_t>(index), 200 * kMilli);
    return true;
  }
  return false;
}

void World::PowerLoss(const Fault& fault) {
  if (disks_.empty()) {
    return;
  }
  const auto struck = static_cast<size_t>(fault.slot);
  for (size_t i = 0; i < slots_.size(); i++) {
    if (config_.hosts == 0 || i == struck) {
      Crash(i, fault.value);
    }
  }
  const bool lost = DiskOf(struck).PowerLoss();
  sometimes_.Count(Situation::kPowerLossTook, lost);
  history_.Append({.time = loop_.now(), .op = Op::kPower, .value = lost ? 1 : 0});
}

void World::Heal() {
  if (resetting_) {
    loop_.Plan(kWorld, 100 * kMilli, [this] { Heal(); });
    return;
  }
  surroundings_.healed = true;
  armed_.clear();
  journal_.Heal();
  park_.Heal();
  if (shared_window_ != nullptr) {
    shared_window_->DownUntil(0);
    shared_window_->Heal();
  }
  for (Slot& slot : slots_) {
    slot.restart = std::min<Micros>(slot.restart, kSecond);
    network_.Cut(slot.actor, 0);
  }
  history_.Append({.time = loop_.now(), .op = Op::kHealed});
  WatchForEnd();
}

}  // namespace oncemq::sim
