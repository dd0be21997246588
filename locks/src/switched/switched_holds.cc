// SPDX-License-Identifier: Apache-2.0
// Extending, moving and giving back, in the stores that may know a hold.
#include <algorithm>

#include "oncemq/base/mutant.h"
#include "switched_parts.h"

namespace oncemq {
namespace {

// Each hold moves by a call of its own. What is renewed comes first: the rest of a batch moves with
// its next renewals, which are soon.
constexpr milliseconds kLongestMoves{500};

}  // namespace

Status SwitchedLocks::Parts::ExtendAt(SwitchedStore& store, std::span<const LockClaim> claims,
                                      std::span<Extended> answers) {
  return store.Do(*board, [&](LockEngine& engine) { return engine.Extend(claims, answers); });
}

// The hold is asked for in the store that is to come, by its own token, so asking twice is asking
// once. It counts only if it was held in the other one just now.
Extended SwitchedLocks::Parts::Move(SwitchedStore& to, const SwitchRecord& record,
                                    const LockClaim& claim, Extended answer) {
  const auto entry = where.Moves(claim, to.name(), record.epoch, clock.Boot());
  if (!entry || ONCEMQ_MUTANT("hold-not-moved")) {
    return ONCEMQ_MUTANT("hold-not-moved") ? answer : Extended::kLater;
  }
  LockAsk ask{claim.name,  claim.token, entry->mode, false,        false,
              claim.lease, claim.lease, entry->who,  record.epoch, entry->fenced};
  // It was counted where it is held, and nobody is granted in one of the two stores alone. By its
  // own limit one with a low limit would stay behind if others with higher ones moved before it.
  if (entry->mode == LockMode::kCounted) {
    ask.limit = ONCEMQ_MUTANT("counted-moves-by-a-limit") ? 1 : kMostCounted;
  }
  const auto granted = AskOne(to, ask, false);
  // Whoever gave it back meanwhile may have told this store before it was asked.
  const auto now = where.Find(claim.token);
  if ((!now || now->given_back) && !ONCEMQ_MUTANT("moved-though-given-back")) {
    static_cast<void>(Undo({to.name()}, 1, ask));
    return Extended::kLater;
  }
  return granted && granted->kind == LockAnswer::Kind::kGranted ? answer : Extended::kLater;
}

void SwitchedLocks::Parts::ExtendAlsoAt(SwitchedStore& to, const SwitchRecord& record,
                                        std::span<const LockClaim> claims,
                                        std::span<Extended> answers) {
  std::vector<LockClaim> held;
  std::vector<size_t> at;
  for (size_t i = 0; i < claims.size(); i++) {
    if (answers[i] != Extended::kGone || ONCEMQ_MUTANT("moved-though-lost")) {
      held.push_back(claims[i]);
      at.push_back(i);
    }
  }
  std::vector<Extended> there(held.size());
  if (held.empty()) {
    return;
  }
  const Status done = ExtendAt(to, held, there);
  WatchTarget(record);
  if (!done) {
    for (const size_t i : at) {
      answers[i] = Extended::kLater;
    }
    return;
  }
  const BootTime until = clock.Boot() + kLongestMoves;
  for (size_t i = 0; i < held.size(); i++) {
    Extended& answer = answers[at[i]];
    if (ONCEMQ_MUTANT("moved-though-lost") && answer == Extended::kGone) {
      answer = Extended::kYes;
    }
    if (there[i] == Extended::kGone) {
      const bool now = clock.Boot() < until || ONCEMQ_MUTANT("moves-without-end");
      answer = now ? Move(to, record, held[i], answer) : Extended::kLater;
    } else if (there[i] == Extended::kAskedBack) {
      answer = Extended::kAskedBack;
    }
  }
}

// Holds would be lost for nothing but a planned switch: it is called off in good time.
// Asked behind each call to the target. An answer, whichever, ends what was counted, and so does
// another switch.
void SwitchedLocks::Parts::WatchTarget(const SwitchRecord& record) {
  const BootTime now = clock.Boot();
  const bool silent = Store(record.to).silent();
  {
    MutexLock lock(mutex);
    if (!silent && !ONCEMQ_MUTANT("answers-of-the-target-not-counted")) {
      target_silent.reset();
      return;
    }
    if (!target_silent || target_silent->epoch != record.epoch) {
      target_silent = Silent{record.epoch, now};
    }
    if (now - target_silent->since < record.longest / 6) {
      return;
    }
    target_silent.reset();
  }
  static_cast<void>(board->CallOff(record, "the store " + record.to + " fails"));
}

// Only what is fenced goes on. A hold that had moved to the target in an earlier switch must not
// live on there alone: this switch may be called off.
Status SwitchedLocks::Parts::ExtendDrained(const SwitchRecord& record,
                                           std::span<const LockClaim> claims,
                                           std::span<Extended> answers) {
  std::fill(answers.begin(), answers.end(), Extended::kLater);
  std::vector<LockClaim> held;
  std::vector<size_t> at;
  for (size_t i = 0; i < claims.size(); i++) {
    const auto entry = where.Find(claims[i].token);
    const bool goes_on = entry && (entry->fenced || ONCEMQ_MUTANT("drain-extends-all"));
    if (goes_on && entry->stores.contains(record.to)) {
      held.push_back(claims[i]);
      at.push_back(i);
    }
  }
  std::vector<Extended> there(held.size());
  if (held.empty()) {
    return {};
  }
  if (const Status done = ExtendAt(Store(record.to), held, there); !done) {
    return done;
  }
  const BootTime now = clock.Boot();
  for (size_t i = 0; i < held.size(); i++) {
    answers[at[i]] = there[i];
    where.Extended(held[i], {record.to}, now);
  }
  return {};
}

// For who cannot read the record: whether it may have left these stores. Asked behind an extension,
// which counts if no store was sealed by then.
bool SwitchedLocks::Parts::SealedSince(const SwitchRecord& record) {
  const StoreNames names = StoresInForce(record);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    SwitchedStore& store = Store(name);
    if (!store.can().seals || ONCEMQ_MUTANT("blind-looks-at-no-seal")) {
      return false;
    }
    const auto sealed = store.Do(*board, [](LockEngine& engine) { return engine.Seal(0); });
    return !sealed || *sealed > record.epoch;
  });
}

Status SwitchedLocks::Extend(std::span<const LockClaim> claims, std::span<Extended> answers) {
  const bool blind = !parts_->board->Progress().good;
  const auto record = parts_->board->InForce();
  if (!record) {
    return record.error();
  }
  if (record->mode == SwitchMode::kDrain) {
    return parts_->ExtendDrained(*record, claims, answers);
  }
  if (const Status done = parts_->ExtendAt(parts_->Store(record->from), claims, answers); !done) {
    return done;
  }
  if (record->mode == SwitchMode::kBoth) {
    parts_->ExtendAlsoAt(parts_->Store(record->to), *record, claims, answers);
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
  return {};
}

// Wherever it may be. Stores that are neither in force nor to come are told too: what is left there
// of a switch that was called off would be in the way of the next one. Their word counts for
// nothing, and they forget it by themselves.
Status SwitchedLocks::Free(std::span<const LockClaim> claims, std::span<Freed> answers) {
  const SwitchRecord record = parts_->board->Progress().record;
  const BootTime now = parts_->clock.Boot();
  std::fill(answers.begin(), answers.end(), Freed::kNotHeld);
  std::vector<std::optional<AskedWhere::Entry>> entries;
  entries.reserve(claims.size());
  for (const LockClaim& claim : claims) {
    entries.push_back(parts_->where.GivesBack(claim.token));
  }
  Status all;
  for (const auto& store : parts_->stores) {
    const bool counts = store->name() == record.from || store->name() == record.to;
    std::vector<LockClaim> there;
    std::vector<size_t> at;
    for (size_t i = 0; i < claims.size(); i++) {
      if (entries[i] ? entries[i]->MayBeAt(store->name(), counts ? BootTime::min() : now)
                     : HasStore(StoresInForce(record), store->name())) {
        there.push_back(claims[i]);
        at.push_back(i);
      }
    }
    if (there.empty()) {
      continue;
    }
    std::vector<Freed> freed(there.size());
    const Status done =
        store->Do(*parts_->board, [&](LockEngine& engine) { return engine.Free(there, freed); });
    if (!counts) {
      continue;
    }
    if (!done) {
      all = Error{done.error().code, Effect::kUnknown, done.error().message};
      continue;
    }
    for (size_t i = 0; i < there.size(); i++) {
      answers[at[i]] = freed[i] == Freed::kYes ? Freed::kYes : answers[at[i]];
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
