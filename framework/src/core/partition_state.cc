// SPDX-License-Identifier: Apache-2.0
#include "partition_state.h"

#include <algorithm>
#include <utility>

#include "oncemq/base/check.h"

namespace oncemq {
namespace {

std::string_view WhyNeverStored(CommitReply reply) {
  switch (reply) {
    case CommitReply::kTooLarge:
      return "the broker takes less commit metadata than this partition needs "
             "(offset.metadata.max.bytes)";
    case CommitReply::kNotAllowed:
      return "the broker does not allow us to commit for this group and topic";
    case CommitReply::kUnknownPartition:
      return "the broker does not know this partition, so its commits are not stored";
    default:
      return {};
  }
}

// The part of the map at or above the offset.
OffsetMap RestOf(const OffsetMap& map, int64_t offset) {
  OffsetMap rest;
  for (const OffsetMap::Range& range : map.ranges()) {
    if (range.to > offset) {
      rest.Append(std::max(range.from, offset), range.to);
    }
  }
  return rest;
}

// One above the last suspect of which the window does not know.
int64_t ReportedTo(const AssignFacts& facts) {
  int64_t to = 0;
  for (const OffsetMap::Range& range : facts.suspects.ranges()) {
    to = range.from < facts.reported_below ? std::min(range.to, facts.reported_below) : to;
  }
  return to;
}

// Above the finished offsets of the commit all refusals are those of this owner.
RefusalsOnRecord BeginRecord(const AssignFacts& facts) {
  const CommitMetadata& metadata = facts.metadata;
  if (metadata.refused() == 0) {
    return {.from = metadata.since};
  }
  const OffsetMap& map = metadata.map;
  return {.from = map.empty() ? facts.start : std::max(facts.start, map.ranges().back().to),
          .refused = metadata.refused()};
}

// Takes back the words of the last commit about begun work.
CommitMetadata& WithoutBegun(CommitMetadata& metadata, bool clean) {
  metadata.clean = clean;
  metadata.abandoned.clear();
  metadata.reserved.reset();
  metadata.inherited = 0;
  return metadata;
}

}  // namespace

std::string_view ToString(PartitionPhase phase) {
  switch (phase) {
    case PartitionPhase::kNone:
      return "none";
    case PartitionPhase::kRaising:
      return "raising";
    case PartitionPhase::kConfirming:
      return "confirming";
    case PartitionPhase::kActive:
      return "active";
    case PartitionPhase::kDraining:
      return "draining";
    case PartitionPhase::kStopped:
      return "stopped";
  }
  return "?";
}

PartitionState::PartitionState(PartitionId id, const CoreOptions& options)
    : caution(options),
      id_(id),
      options_(options),
      frontier_(options.span),
      reserve_(options.span) {}

void PartitionState::Assign(const AssignFacts& facts, BootTime now, Actions& actions) {
  ONCEMQ_CHECK(phase_ == PartitionPhase::kNone, "a partition is given back before it is assigned");
  facts_ = facts;
  caution.Start(facts, Made(facts.metadata));
  if (options_.refusals.parks && !facts.metadata.RecordedFrom()) {
    facts_.metadata.optional.on_record = BeginRecord(facts);
  }
  frontier_.Start(facts.start, facts.metadata.map, facts.metadata.not_done, facts.metadata.totals);
  log_times.Start();
  reported_to_ = options_.suspects ? ReportedTo(facts) : 0;
  reserve_.Start(facts.start,
                 std::max(facts.suspects.empty() ? facts.start : facts.suspects.ranges().back().to,
                          caution.cautious_to()));
  uncertain_offsets.clear();
  epoch_++;
  running = 0;
  committed_ = -1;
  commit_.reset();
  dirty_ = map_cut_ = halted_ = false;
  safe_until_ = BootTime{};  // an earlier assignment proves nothing
  phase_ = PartitionPhase::kRaising;
  retry_at_ = now + options_.session_timeout;
  RaiseOwnership(actions);
}

void PartitionState::RaiseOwnership(Actions& actions) const {
  actions.emplace_back(
      RaiseOwnerEpochAction{id_, epoch_, std::max(facts_.metadata.owner_epoch, owner_epoch_) + 1});
}

void PartitionState::OwnerEpochRaised(uint32_t epoch, const Result<OwnerEpoch>& owner_epoch,
                                      BootTime now, Actions& actions) {
  const bool draining = phase_ == PartitionPhase::kDraining;
  if (epoch != epoch_ || (phase_ != PartitionPhase::kRaising && !draining)) {
    return;  // asked for an assignment that is over
  }
  if (draining) {
    // the last commit has to name it: the window refuses older ones
    owner_epoch_ = owner_epoch.value_or(owner_epoch_);
    raise_ += owner_epoch ? 1 : 0;
    return;
  }
  if (!owner_epoch) {
    retry_at_ =
        now + options_.store_retry;  // no ownership, no work: the partition waits for its store
    return;
  }
  owner_epoch_ = *owner_epoch;
  raise_++;
  phase_ = PartitionPhase::kConfirming;
  retry_at_ = now;
  if (!commit_) {
    SendCommit(false, now, actions);
  }
}

void PartitionState::OwnershipLost(uint16_t raise, BootTime now, Actions& actions) {
  if (phase_ == PartitionPhase::kActive && raise == raise_) {
    phase_ = PartitionPhase::kRaising;
    retry_at_ = now + options_.session_timeout;
    RaiseOwnership(actions);
  }
}

void PartitionState::CommitAnswered(uint64_t number, CommitReply reply, BootTime now,
                                    Actions& actions) {
  if (!commit_ || commit_->number != number) {
    return;
  }
  const InFlight sent = *commit_;
  ONCEMQ_CHECK(sent.offset >= committed_, "a commit is never below an acknowledged one");
  commit_.reset();
  if (reply == CommitReply::kAcknowledged) {
    committed_ = sent.offset;
  }
  if (const auto why = WhyNeverStored(reply); !why.empty()) {
    Halt(sent.offset, std::string(why), actions);
  }
  if (phase_ == PartitionPhase::kDraining) {
    // Fenced: nothing more comes of this ownership, unless it was raised meanwhile.
    const bool open = reply == CommitReply::kUnknown || reply == CommitReply::kNotSent ||
                      (reply == CommitReply::kFenced && sent.raise != raise_);
    const bool again = open && now < deadline_;
    if (sent.last && !again) {
      GiveBack(reply == CommitReply::kUnknown, actions);
    } else if (again) {
      retry_at_ = now + options_.store_retry;
    } else if (running == 0 || now >= deadline_) {
      EndOfDrain(now, actions);
    }
    return;
  }
  switch (reply) {
    case CommitReply::kAcknowledged:
      // Counted from the moment of sending: the broker restarted our session no earlier than that
      // (rule 10).
      safe_until_ = sent.sent + options_.session_timeout - options_.session_margin;
      reserve_.Acknowledged(sent.reserved);
      caution.Acknowledged(sent.notes);
      if (phase_ == PartitionPhase::kConfirming && sent.confirms) {
        ONCEMQ_CHECK(sent.raise == raise_, "a commit confirms what it names (rule 9)");
        phase_ = PartitionPhase::kActive;
        confirmed_owner_epoch_ = owner_epoch_;
      }
      break;
    case CommitReply::kRefused:
    case CommitReply::kTooLarge:
    case CommitReply::kNotAllowed:
    case CommitReply::kUnknownPartition:
      phase_ = PartitionPhase::kStopped;
      break;
    case CommitReply::kUnknown:
    case CommitReply::kNotSent:
    case CommitReply::kFenced:
      dirty_ = true;
      if (phase_ != PartitionPhase::kRaising) {  // there it is the time of the raise
        retry_at_ = now + options_.store_retry;
      }
      if (reply == CommitReply::kFenced) {
        Fenced(sent.raise);
      }
      break;
  }
}

// Somebody has raised the ownership in the window above ours: another member, or a call of ours
// whose answer did not come. The group decides which: start over (rule 9). Not at once, since two
// members may both think so until the group has told one of them.
void PartitionState::Fenced(uint16_t raise) {
  const bool at_work = phase_ == PartitionPhase::kConfirming || phase_ == PartitionPhase::kActive;
  if (at_work && raise == raise_) {
    phase_ = PartitionPhase::kRaising;  // asks at retry_at_
  }
}

void PartitionState::Revoke(BootTime deadline, BootTime now, Actions& actions) {
  if (phase_ == PartitionPhase::kNone || phase_ == PartitionPhase::kDraining) {
    return;
  }
  // While the ownership is raised anew, handlers of before may run on, and what they finish is to
  // be committed and named as ever (rule 21). Not the owner any more: nothing would be stored.
  const bool stopped = phase_ == PartitionPhase::kStopped;
  const bool owes = running > 0 || dirty_;
  const bool worked = phase_ == PartitionPhase::kActive || (owes && !stopped);
  phase_ = PartitionPhase::kDraining;
  deadline_ = deadline;
  retry_at_ = now;
  if (!worked && !commit_) {
    GiveBack(false, actions);
  } else if (!commit_ && running == 0) {
    EndOfDrain(now, actions);
  }
}

void PartitionState::Lost() {
  if (phase_ != PartitionPhase::kNone) {
    End();
  }
}

bool PartitionState::Halt(int64_t offset, std::string why, Actions& actions) {
  if (halted_) {
    return false;
  }
  halted_ = true;
  actions.emplace_back(StopAction{id_, offset, std::move(why), std::nullopt});
  return true;
}

void PartitionState::BatchEnded(BootTime now, Actions& actions) {
  if (phase_ == PartitionPhase::kDraining && running == 0 && !commit_ && now >= retry_at_) {
    EndOfDrain(now, actions);
  }
}

void PartitionState::Tick(BootTime now, Actions& actions) {
  switch (phase_) {
    case PartitionPhase::kRaising:
      if (now >= retry_at_) {
        retry_at_ = now + options_.session_timeout;
        RaiseOwnership(actions);
      }
      break;
    case PartitionPhase::kConfirming:
      if (!commit_ && now >= retry_at_) {
        SendCommit(false, now, actions);
      }
      break;
    case PartitionPhase::kActive:
      if (!commit_ && now >= last_commit_ + options_.commit_interval && now >= retry_at_ &&
          (dirty_ || now >= last_commit_ + options_.session_timeout / 3)) {
        SendCommit(false, now, actions);
      } else if (caution.WantsCommit()) {
        CommitIfWanted(now, actions);
      }
      break;
    case PartitionPhase::kDraining:
      if (now >= deadline_) {
        if (!commit_) {
          EndOfDrain(now, actions);
        } else if (now >= deadline_ + options_.session_margin) {
          GiveBack(true, actions);
        }
      } else if (!commit_ && running == 0 && now >= retry_at_) {
        EndOfDrain(now, actions);
      }
      break;
    case PartitionPhase::kNone:
    case PartitionPhase::kStopped:
      break;
  }
}

std::optional<BootTime> PartitionState::NextTimer() const {
  switch (phase_) {
    case PartitionPhase::kRaising:
      return retry_at_;
    case PartitionPhase::kConfirming:
      return commit_ ? std::nullopt : std::optional(retry_at_);
    case PartitionPhase::kActive: {
      if (commit_) {
        return std::nullopt;
      }
      const BootTime next =
          last_commit_ + (dirty_ ? options_.commit_interval : options_.session_timeout / 3);
      return caution.WantsCommit() ? retry_at_ : std::max(next, retry_at_);
    }
    case PartitionPhase::kDraining:
      if (commit_) {
        return deadline_ + options_.session_margin;
      }
      return running == 0 ? std::min(retry_at_, deadline_) : deadline_;
    case PartitionPhase::kNone:
    case PartitionPhase::kStopped:
      return std::nullopt;
  }
  return std::nullopt;
}

void PartitionState::CommitIfWanted(BootTime now, Actions& actions) {
  const bool may = phase_ == PartitionPhase::kActive && !commit_ && now >= retry_at_;
  if (may && ((caution.bounded() && reserve_.Short()) || caution.WantsCommit())) {
    SendCommit(false, now, actions);
  }
}

void PartitionState::SendCommit(bool last, BootTime now, Actions& actions) {
  ONCEMQ_CHECK(!commit_, "at most one commit of a partition is in flight");
  ONCEMQ_CHECK(phase_ != PartitionPhase::kNone && phase_ != PartitionPhase::kStopped,
               "a partition commits only while it is assigned");
  ONCEMQ_CHECK(counts.Balanced(), "each delivery is in exactly one count (rule 51)");
  CommitMetadata& metadata = facts_.metadata;
  metadata.scope = options_.scope.id;
  metadata.recipe = options_.scope.recipe;
  metadata.owner_epoch = owner_epoch_;
  metadata.incarnation = facts_.incarnation;
  static_cast<DeathNotes&>(metadata) = caution.State(frontier_.Advance(), last);
  int64_t begun_to = 0;
  last ? void(begun_to = NameUnfinished()) : CallUnclean(reserve_.State(caution.bound_is_near()));
  std::optional<FrontierSnapshot> fitting = SnapshotThatFits(begun_to);
  if (last && fitting && fitting->cut && options_.suspects) {
    // Finished work that the map cannot tell comes again, and its effects are there.
    CallUnclean(std::max(begun_to, frontier_.next_offset()));
    fitting = SnapshotThatFits(begun_to);
  }
  if (!fitting) {
    return StopUncommitted(frontier_.offset(), actions);
  }
  FrontierSnapshot& snapshot = *fitting;
  ONCEMQ_CHECK(snapshot.offset >= committed_, "a commit is never below an acknowledged one");
  map_cut_ = snapshot.cut;
  metadata.map = std::move(snapshot.map);
  metadata.not_done = std::move(snapshot.not_done);
  metadata.totals = snapshot.totals;
  if (options_.refusals.parks && metadata.optional.on_record) {
    metadata.optional.on_record->refused = metadata.refused();
  }
  metadata.top = std::max(metadata.top, snapshot.offset);
  const bool confirms = phase_ == PartitionPhase::kConfirming;
  commit_ = InFlight{.number = next_number_++,
                     .offset = snapshot.offset,
                     .sent = now,
                     .last = last,
                     .confirms = confirms,
                     .raise = raise_,
                     .reserved = metadata.reserved.value_or(0),
                     .notes = metadata};
  last_commit_ = now;
  dirty_ = false;
  actions.emplace_back(CommitAction{id_, epoch_, commit_->number, snapshot.offset,
                                    EncodeCommit(metadata, snapshot.offset),
                                    log_times.At(snapshot.offset)});
}

// The last commit of an assignment names all that may have been begun and is not finished (rules
// 11, 21): running deliveries, those handed back in doubt, and unsettled suspects of owners before.
// Returns one above all of these.
int64_t PartitionState::NameUnfinished() {
  std::vector<int64_t>& begun = WithoutBegun(facts_.metadata, true).abandoned;
  begun = running_offsets();
  if (!options_.suspects) {
    return 0;
  }
  begun.insert(begun.end(), uncertain_offsets.begin(), uncertain_offsets.end());
  const int64_t frontier = frontier_.Advance();
  const OffsetMap left = RestOf(facts_.suspects, frontier);
  int64_t begun_to = left.empty() ? 0 : left.ranges().back().to;
  if (!begun.empty()) {
    begun_to = std::max(begun_to, *std::max_element(begun.begin(), begun.end()) + 1);
  }
  if (left.count() > static_cast<int64_t>(kMaxAbandoned)) {
    CallUnclean(begun_to);
    return begun_to;
  }
  for (const OffsetMap::Range& range : left.ranges()) {
    for (int64_t offset = range.from; offset < range.to; offset++) {
      begun.push_back(offset);
    }
  }
  std::sort(begun.begin(), begun.end());
  begun.erase(std::unique(begun.begin(), begun.end()), begun.end());
  return begun_to;
}

// All that lies below the bound and is not called finished may have been begun.
void PartitionState::CallUnclean(int64_t bound) {
  CommitMetadata& metadata = WithoutBegun(facts_.metadata, false);
  if (caution.states_bound() && bound > 0) {
    metadata.reserved = bound;
    metadata.inherited = frontier_.Advance() < reported_to_ ? std::min(reported_to_, bound) : 0;
  }
}

// The snapshot to commit, once the metadata beside it leaves its map enough room; nothing if there
// is no way. A map that came with the last commit is never cut, because its outcomes are counted.
std::optional<FrontierSnapshot> PartitionState::SnapshotThatFits(int64_t begun_to) {
  CommitMetadata& metadata = facts_.metadata;
  const auto take = [&]() -> std::optional<FrontierSnapshot> {
    FrontierSnapshot snapshot = frontier_.Snapshot(MapBudget(metadata));
    if (!MapFits(snapshot, metadata)) {
      return std::nullopt;
    }
    return snapshot;
  };
  if (metadata.abandoned.size() <= kMaxAbandoned) {
    if (auto snapshot = take()) {
      return snapshot;
    }
  }
  if (metadata.clean) {
    CallUnclean(begun_to);  // too many to list
  }
  if (auto snapshot = take()) {
    return snapshot;
  }
  metadata.optional.on_record.reset();  // the next owner begins it anew
  if (auto snapshot = take()) {
    return snapshot;
  }
  CloseUpSkipped(metadata);
  auto snapshot = take();
  for (; !snapshot && !metadata.killers.empty(); snapshot = take()) {
    metadata.killers.pop_back();
  }
  if (!snapshot) {
    caution.Forget();
    static_cast<DeathNotes&>(metadata) = {};
    CallUnclean(metadata.reserved.value_or(0));
    snapshot = take();
  }
  return snapshot;
}

// What has to be said with the offset is longer than a commit may be.
void PartitionState::StopUncommitted(int64_t offset, Actions& actions) {
  Halt(offset, "the map of the last commit leaves no room for what a new one has to say", actions);
  if (phase_ == PartitionPhase::kDraining) {
    GiveBack(false, actions);
  } else {
    phase_ = PartitionPhase::kStopped;
  }
}

void PartitionState::EndOfDrain(BootTime now, Actions& actions) {
  SendCommit(true, now, actions);
}

void PartitionState::GiveBack(bool leave_group, Actions& actions) {
  ONCEMQ_CHECK(phase_ != PartitionPhase::kNone, "an assignment is given back once");
  actions.emplace_back(GiveBackAction{id_, epoch_, leave_group});
  End();
}

void PartitionState::End() {
  phase_ = PartitionPhase::kNone;
  commit_.reset();
  running = 0;
}

}  // namespace oncemq
