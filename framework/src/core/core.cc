// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/core.h"

#include <algorithm>
#include <functional>

#include "core_impl.h"
#include "oncemq/base/check.h"

namespace oncemq {
namespace {

constexpr uint64_t kFirstMessages = 64;  // that are admitted before any size is known

}  // namespace

Core::Impl::Impl(const CoreOptions& options)
    : options_(options),
      slab_(options.in_flight + options.waiting.messages),
      lanes_(slab_, static_cast<uint32_t>(slab_.size())),
      waiting_(options.waiting),
      retries_(static_cast<uint32_t>(slab_.size())),
      stamps_(slab_.size(), kNoStamp),
      usual_(std::max<uint64_t>(1, options.in_flight_bytes / kFirstMessages)) {
  ONCEMQ_CHECK(options.in_flight > 0 && options.batch > 0 && options.lane_batch > 0,
               "limits are checked where they are configured");
  for (uint32_t i = 0; i + 1 < slab_.size(); i++) {
    slab_[i].next = i + 1;
  }
}

PartitionState& Core::Impl::Create(PartitionId id) {
  while (partitions_.size() <= id) {
    const auto next = static_cast<PartitionId>(partitions_.size());
    partitions_.push_back(std::make_unique<PartitionState>(next, options_));
    partitions_.back()->running_offsets = [this, next] { return RunningOffsets(next); };
  }
  return *partitions_[id];
}

std::vector<int64_t> Core::Impl::RunningOffsets(PartitionId id) {
  std::vector<int64_t> offsets;
  for (const Delivery& delivery : slab_) {
    const bool owed = delivery.running || delivery.carried.stage == Stage::kApplied;
    if (owed && delivery.partition == id && !delivery.carried.redriven) {
      offsets.push_back(delivery.offset);
    }
  }
  std::sort(offsets.begin(), offsets.end());
  return offsets;
}

Core::Core(const CoreOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Core::~Core() = default;

void Core::Assign(PartitionId partition, const AssignFacts& facts, BootTime now) {
  impl_->At(partition).Assign(facts, now, impl_->actions_);
}

void Core::OwnerEpochRaised(PartitionId partition, uint32_t epoch,
                            const Result<OwnerEpoch>& owner_epoch, BootTime now) {
  PartitionState& state = impl_->At(partition);
  state.OwnerEpochRaised(epoch, owner_epoch, now, impl_->actions_);
  impl_->lanes_.WakeAll(state.held);
}

void Core::CommitAnswered(PartitionId partition, uint64_t number, CommitReply reply, BootTime now) {
  PartitionState& state = impl_->At(partition);
  state.CommitAnswered(number, reply, now, impl_->actions_);
  if (state.phase() == PartitionPhase::kStopped) {
    impl_->HandBackQueued(partition);
  }
  impl_->lanes_.WakeAll(state.held);
}

void Core::Revoke(PartitionId partition, BootTime deadline, BootTime now) {
  impl_->NoteUncertainQueued(partition);  // its last commit may be asked for at once
  impl_->At(partition).Revoke(deadline, now, impl_->actions_);
  impl_->HandBackQueued(partition);
}

void Core::Lost(PartitionId partition) {
  impl_->At(partition).Lost();
  impl_->HandBackQueued(partition);
}

uint32_t Core::Credit(PartitionId partition) {
  return impl_->Credit(partition);
}

void Core::Admit(PartitionId partition, std::span<const Arrival> arrivals) {
  if (!arrivals.empty()) {
    impl_->Admit(partition, arrivals);
    impl_->ParkLongestWaiting();
  }
}

void Core::SetParked(PartitionId partition, const ParkedMessages& parked) {
  impl_->parked_.Set(partition, parked);
}

void Core::AdmitRedriven(PartitionId partition, std::span<const RedrivenArrival> arrivals) {
  impl_->AdmitRedriven(partition, arrivals);
}

bool Core::Finished(PartitionId partition, int64_t offset) const {
  return impl_->At(partition).frontier().Finished(offset);
}

void Core::ReadTo(PartitionId partition, int64_t end) {
  impl_->At(partition).ReadTo(end);
}

bool Core::TakeBatch(MessageBatch& batch, BootTime now, uint32_t limit) {
  return impl_->TakeBatch(batch, now, limit);
}

void Core::Settle(std::span<Settlement> settlements, BootTime now) {
  impl_->Settle(settlements, now);
  impl_->ParkLongestWaiting();
}

void Core::TakeLeftBehind(std::vector<LeftBehind>& messages) {
  impl_->TakeLeftBehind(messages);
}

void Core::Replace(std::span<const LeftBehind> copies) {
  impl_->Replace(copies);
}

void Core::Tick(BootTime now) {
  impl_->WakeDue(now);
  for (const auto& partition : impl_->partitions_) {
    partition->Tick(now, impl_->actions_);
  }
}

std::optional<BootTime> Core::NextTimer() const {
  std::optional<BootTime> next = impl_->waiting_.NextDue();
  for (const auto& partition : impl_->partitions_) {
    if (const auto own = partition->NextTimer(); own && (!next || *own < *next)) {
      next = own;
    }
  }
  return next;
}

void Core::TakeActions(std::vector<Action>& actions) {
  for (Action& action : impl_->actions_) {
    actions.push_back(std::move(action));
  }
  impl_->actions_.clear();
}

void Core::TakeReleased(std::vector<void*>& messages) {
  messages.insert(messages.end(), impl_->released_.begin(), impl_->released_.end());
  impl_->released_.clear();
}

void Core::Halt(PartitionId partition, std::string why) {
  PartitionState& state = impl_->At(partition);
  if (state.phase() != PartitionPhase::kNone &&
      state.Halt(state.frontier().Advance(), std::move(why), impl_->actions_)) {
    impl_->HandBackQueued(partition);
  }
}

PartitionStatus Core::Status(PartitionId partition) const {
  PartitionState& state = impl_->At(partition);
  const Waiting::Load waiting = impl_->waiting_.of(partition);
  return {.phase = state.phase(),
          .epoch = state.epoch(),
          .owner_epoch = state.owner_epoch(),
          .frontier = state.frontier().Advance(),
          .committed = state.committed(),
          .next_offset = state.frontier().next_offset(),
          .map_full = state.MapFull(),
          .suspect_to = state.suspect_to(),
          .cautious_to = state.caution.cautious_to(),
          .totals = {state.facts().metadata.totals,
                     state.frontier().Surplus(state.facts().metadata.since)},
          .uncertain = state.facts().metadata.uncertain,
          .counts = state.counts,
          .retrying = impl_->retries_.count(partition),
          .waiting = waiting.messages,
          .waiting_bytes = waiting.bytes};
}

void Core::FindOwedClaims(std::vector<HeldClaim>& claims) const {
  impl_->FindOwedClaims(claims);
}

void Core::FindOldest(std::span<OpenMessage> messages) const {
  impl_->FindOldest(messages);
}

BootTime Core::SafeUntil(PartitionId partition) const {
  return impl_->At(partition).safe_until();
}

bool Core::Made(PartitionId partition, const CommitMetadata& commit) const {
  return impl_->At(partition).Made(commit);
}

DeliveryCounts& DeliveryCounts::operator+=(const DeliveryCounts& more) {
  const auto add = [](auto& to, const auto& from) {
    std::ranges::transform(to, from, to.begin(), std::plus());
  };
  deliveries += more.deliveries;
  applied += more.applied;
  suppressed += more.suppressed;
  parked += more.parked;
  rejected += more.rejected;
  handed_back += more.handed_back;
  open += more.open;
  uncertain += more.uncertain;
  own_redelivery += more.own_redelivery;
  attached += more.attached;
  conflict += more.conflict;
  result_dropped += more.result_dropped;
  unprotected += more.unprotected;
  repaired += more.repaired;
  stale += more.stale;
  handler_calls += more.handler_calls;
  retries += more.retries;
  retries_not_done += more.retries_not_done;
  add(parked_by, more.parked_by);
  add(redriven, more.redriven);
  add(fenced, more.fenced);
  return *this;
}

DeliveryCounts Core::Counts() const {
  DeliveryCounts sum;
  for (const auto& partition : impl_->partitions_) {
    sum += partition->counts;
  }
  return sum;
}

CoreLoad Core::load() const {
  return {impl_->lanes_.live(), impl_->trial_.running(), impl_->open_, impl_->bytes_};
}
uint64_t Core::MessagesThatFit() const {
  return impl_->options_.in_flight_bytes / impl_->usual_.bytes();
}

}  // namespace oncemq
