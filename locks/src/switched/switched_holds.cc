// SPDX-License-Identifier: Apache-2.0
// Extending, moving and giving back, in the stores that may know a hold.
#include <algorithm>

#include "switched_parts.h"

namespace oncemq {
namespace {

// Each hold moves by a call of its own. What is renewed comes first: the rest of a batch moves with
// its next renewals, which are soon.
constexpr milliseconds kLongestMoves{500};
// No store answers reliably in less.
constexpr milliseconds kShortestTargetAnswer{50};

// Some claims of a batch, and where they stand in it.
struct Some {
  std::vector<LockClaim> claims;
  std::vector<size_t> at;

  void Add(const LockClaim& claim, size_t i) {
    claims.push_back(claim);
    at.push_back(i);
  }
};

// It counts where both have extended it, and is asked back where one of them says so.
Extended OfBoth(Extended here, Extended there) {
  if (here == Extended::kLater || there == Extended::kLater) {
    return Extended::kLater;
  }
  const bool recalled = here == Extended::kRecalled || there == Extended::kRecalled;
  return recalled ? Extended::kRecalled : Extended::kYes;
}

}  // namespace

Status SwitchedLocks::Parts::ExtendAt(SwitchedStore& store, std::span<const LockClaim> claims,
                                      std::span<Extended> answers) {
  return store.Do(*board, [&](LockEngine& engine) { return engine.Extend(claims, answers); });
}

// The hold is asked for in the store that is to come, by its own token, so asking twice, one behind
// the other, is asking once. It counts only if the other one holds it still.
Result<bool> SwitchedLocks::Parts::Move(SwitchedStore& to, const SwitchRecord& record,
                                        const LockClaim& claim, BootTime extended_at) {
  const auto entry = where.Moves(claim, to.name(), record.epoch, clock.Boot());
  if (!entry) {
    return false;
  }
  AcquireRequest request{claim.name,  claim.token, entry->mode, false,        false,
                         claim.lease, claim.lease, entry->who,  record.epoch, entry->fenced};
  // It was counted where it is held, and nobody is granted in one of the two stores alone. By its
  // own limit one with a low limit would stay behind if others with higher ones moved before it.
  if (entry->mode == LockMode::kCounted) {
    request.limit = kMostCounted;
  }
  const auto answer = RequestAt(to, request, false);
  // A release may have reached this store before the request. If the hold may have ended in the
  // other store, both may have granted it to another one in between.
  const auto now = where.Moved(claim.token);
  const bool late = answer && MayHaveEnded(extended_at, claim.lease);
  if (!now || now->given_back || late) {
    static_cast<void>(Undo({to.name()}, 1, request));
    return false;
  }
  return answer ? Result<bool>(answer->kind == LockAnswer::Kind::kGranted) : answer.error();
}

// Whoever was tried longest ago is the first: one whose move takes all the time keeps the others
// waiting once.
std::vector<size_t> SwitchedLocks::Parts::InTurn(std::span<const LockClaim> claims) const {
  std::vector<std::pair<uint64_t, size_t>> turns;
  for (size_t i = 0; i < claims.size(); i++) {
    turns.emplace_back(where.Tried(claims[i].token), i);
  }
  std::sort(turns.begin(), turns.end());
  std::vector<size_t> order;
  for (const auto& [tried, i] : turns) {
    order.push_back(i);
  }
  return order;
}

// Answers which of them are held there now.
std::vector<bool> SwitchedLocks::Parts::MoveSome(SwitchedStore& to, const SwitchRecord& record,
                                                 std::span<const LockClaim> claims,
                                                 BootTime extended_at) {
  std::vector<bool> moved(claims.size());
  std::optional<Error> refused;
  bool answered = false;
  const BootTime sent_at = clock.Boot();
  const BootTime until = sent_at + kLongestMoves;
  for (const size_t i : InTurn(claims)) {
    if (clock.Boot() >= until) {
      break;
    }
    const auto done = Move(to, record, claims[i], extended_at);
    moved[i] = done.value_or(false);
    answered = answered || done;
    refused = done ? refused : done.error();
  }
  WatchTarget(record, sent_at, answered || !refused ? Status() : Status(*refused));
  return moved;
}

// A hold that waits for a silent target must have time left to learn that the switch is called off.
milliseconds SwitchedLocks::Parts::TargetAnswersWithin(const SwitchRecord& record) const {
  const milliseconds shortest = where.ShortestLease(clock.Boot()).value_or(record.longest);
  return std::max(std::min(shortest, record.longest) / 6, kShortestTargetAnswer);
}

// A failure of the target is told as one, so that whoever renews finds the name whose failure it
// is; but what has ended in the other store is told at once.
Status SwitchedLocks::Parts::ExtendAlsoAt(SwitchedStore& to, const SwitchRecord& record,
                                          std::span<const LockClaim> claims,
                                          std::span<Extended> answers, BootTime extended_at) {
  Some held;
  const milliseconds within = TargetAnswersWithin(record);
  for (size_t i = 0; i < claims.size(); i++) {
    if (answers[i] != Extended::kGone) {
      held.Add(claims[i], i);
      held.claims.back().answer_within = std::min(claims[i].answer_within, within);
    }
  }
  if (held.at.empty()) {
    return {};
  }
  std::vector<Extended> there(held.at.size());
  const BootTime sent_at = clock.Boot();
  if (const Status done = ExtendAt(to, held.claims, there); !done) {
    WatchTarget(record, sent_at, done);
    for (const size_t i : held.at) {
      answers[i] = Extended::kLater;
    }
    const bool all = held.at.size() == claims.size();
    return all ? Status(Error{done.error().code, Effect::kUnknown, done.error().message})
               : Status();
  }
  Some away;
  for (size_t i = 0; i < held.at.size(); i++) {
    if (there[i] == Extended::kGone) {
      away.Add(held.claims[i], held.at[i]);
    } else {
      answers[held.at[i]] = OfBoth(answers[held.at[i]], there[i]);
    }
  }
  if (away.at.empty()) {
    WatchTarget(record, sent_at, {});
    return {};
  }
  const std::vector<bool> moved = MoveSome(to, record, away.claims, extended_at);
  for (size_t i = 0; i < moved.size(); i++) {
    Extended& answer = answers[away.at[i]];
    answer = moved[i] ? OfBoth(answer, Extended::kYes) : Extended::kLater;
  }
  return {};
}

// Holds would be lost for nothing but a planned switch: the switchboard calls it off in good time.
// A refusal counts as a failure. That the target answers questions does not make up for it.
void SwitchedLocks::Parts::WatchTarget(const SwitchRecord& record, BootTime sent_at,
                                       const Status& taken) {
  board->ReportTarget(record, sent_at, taken);
}

// Only what is fenced goes on. A hold that had moved to the target in an earlier switch must not
// live on there alone: this switch may be called off.
Status SwitchedLocks::Parts::ExtendDrained(const SwitchRecord& record,
                                           std::span<const LockClaim> claims,
                                           std::span<Extended> answers) {
  std::fill(answers.begin(), answers.end(), Extended::kLater);
  Some held;
  for (size_t i = 0; i < claims.size(); i++) {
    const auto entry = where.Find(claims[i].token);
    const bool goes_on = entry && entry->fenced;
    if (goes_on && entry->stores.contains(record.to)) {
      held.Add(claims[i], i);
    }
  }
  std::vector<Extended> there(held.at.size());
  if (held.at.empty()) {
    return {};
  }
  if (const Status done = ExtendAt(Store(record.to), held.claims, there); !done) {
    return done;
  }
  const BootTime now = clock.Boot();
  for (size_t i = 0; i < there.size(); i++) {
    answers[held.at[i]] = there[i];
    where.Extended(held.claims[i], {record.to}, now);
  }
  return {};
}

// For who cannot read the record: whether it may have left these stores. Asked behind an extension,
// which counts if no store was sealed by then.
bool SwitchedLocks::Parts::SealedSince(const SwitchRecord& record) {
  const StoreNames names = StoresInForce(record);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    SwitchedStore& store = Store(name);
    if (!store.can().seals) {
      return false;
    }
    const auto sealed = store.Do(*board, [](LockEngine& engine) { return engine.Seal(0); });
    return !sealed || *sealed > record.epoch;
  });
}

// A record that was lost and begun anew may allow shorter leases than those that are held: no
// switch waits for these.
Status SwitchedLocks::ExtendTheRest(std::span<const LockClaim> claims, std::span<Extended> answers,
                                    const std::function<bool(const LockClaim&)>& without) {
  Some rest;
  for (size_t i = 0; i < claims.size(); i++) {
    answers[i] = Extended::kLater;
    if (!without(claims[i])) {
      rest.Add(claims[i], i);
    }
  }
  if (rest.at.empty()) {
    return {};
  }
  std::vector<Extended> said(rest.at.size());
  const Status done = Extend(rest.claims, said);
  for (size_t i = 0; done && i < said.size(); i++) {
    answers[rest.at[i]] = said[i];
  }
  return done;
}

Status SwitchedLocks::Extend(std::span<const LockClaim> claims, std::span<Extended> answers) {
  const bool blind = !parts_->board->Progress().good;
  const auto record = parts_->board->InForce();
  if (!record) {
    return record.error();
  }
  const auto too_long = [&](const LockClaim& claim) { return claim.lease > record->longest; };
  if (std::any_of(claims.begin(), claims.end(), too_long)) {
    return ExtendTheRest(claims, answers, too_long);
  }
  if (record->mode == SwitchMode::kDrain) {
    return parts_->ExtendDrained(*record, claims, answers);
  }
  const BootTime extended_at = parts_->clock.Boot();
  if (const Status done = parts_->ExtendAt(parts_->Store(record->from), claims, answers); !done) {
    return done;
  }
  Status also;
  if (record->mode == SwitchMode::kBoth) {
    also = parts_->ExtendAlsoAt(parts_->Store(record->to), *record, claims, answers, extended_at);
  }
  if (blind && parts_->SealedSince(*record)) {
    std::replace_if(
        answers.begin(), answers.end(), [](Extended answer) { return answer != Extended::kGone; },
        Extended::kLater);
  }
  const BootTime now = parts_->clock.Boot();
  for (const LockClaim& claim : claims) {
    parts_->where.Extended(claim, StoresInForce(*record), now);
  }
  return also;
}

// Wherever it may be. Stores that are neither in force nor to come are told too: what is left there
// of a switch that was called off would be in the way of the next one. Their word counts for
// nothing, and they forget it by themselves.
Status SwitchedLocks::Free(std::span<const LockClaim> claims, std::span<Freed> answers) {
  const SwitchRecord record = parts_->board->Progress().record;
  const BootTime now = parts_->clock.Boot();
  std::fill(answers.begin(), answers.end(), Freed::kNotHeld);
  std::vector<std::optional<RequestedWhere::Entry>> entries;
  entries.reserve(claims.size());
  for (const LockClaim& claim : claims) {
    entries.push_back(parts_->where.GivesBack(claim.token));
  }
  Status all;
  for (const auto& store : parts_->stores) {
    const bool counts = store->name() == record.from || store->name() == record.to;
    // Where the hold has ended in the other store, another one may have had the name since.
    const bool decides = record.mode != SwitchMode::kBoth || store->name() == record.from;
    Some there;
    for (size_t i = 0; i < claims.size(); i++) {
      if (entries[i] ? entries[i]->MayBeAt(store->name(), counts ? BootTime::min() : now)
                     : HasStore(StoresInForce(record), store->name())) {
        there.Add(claims[i], i);
      }
    }
    if (there.at.empty()) {
      continue;
    }
    std::vector<Freed> freed(there.at.size());
    const BootTime sent_at = parts_->clock.Boot();
    const Status done = store->Do(
        *parts_->board, [&](LockEngine& engine) { return engine.Free(there.claims, freed); });
    if (!counts) {
      continue;
    }
    if (!done) {
      if (store->name() == record.to) {
        parts_->WatchTarget(record, sent_at, done);
      }
      all = Error{done.error().code, Effect::kUnknown, done.error().message};
      continue;
    }
    for (size_t i = 0; i < freed.size(); i++) {
      Freed& answer = answers[there.at[i]];
      answer = decides && freed[i] == Freed::kYes ? Freed::kYes : answer;
    }
  }
  for (const LockClaim& claim : claims) {
    if (all) {
      parts_->where.Forget(claim.token);
    }
  }
  return all;
}

}  // namespace oncemq
