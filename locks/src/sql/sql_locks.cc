// SPDX-License-Identifier: Apache-2.0
#include "sql_locks.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <numeric>

#include "../lock_entry.h"
#include "../lock_entry_codec.h"
#include "name_turn.h"
#include "oncemq/base/hash.h"
#include "oncemq/base/log.h"
#include "oncemq/base/mutant.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/random.h"
#include "wakes.h"

namespace oncemq {
namespace {

// What people read of a holder.
constexpr size_t kLongestWho = 512;
// Each so many new rows, as many old ones are looked at four times over. A change of a row that is
// there counts for less: it adds none, but what a former load left would stay without it.
constexpr uint64_t kNewRow = 16;
constexpr uint64_t kSweepEach = kNewRow * kSqlPortion / 4;
constexpr uint32_t kPauseDoublings = 5;

// What a rule may change of a name.
struct Draft {
  LockEntry entry;
  uint64_t fence = 0;  // of the last grant
  BootTime now{};
  uint32_t epoch = 0;
  LockEntry::Turns turns;
};

class SqlLocks final : public LockEngine {
 public:
  SqlLocks(std::unique_ptr<SqlStore> store, const LockCapabilities& can,
           const SqlLockLimits& limits)
      : can_(can), limits_(limits), store_(std::move(store)) {}

  const LockCapabilities& capabilities() const override { return can_; }

  Result<LockAnswer> Ask(const LockAsk& ask) override {
    LockAsk short_ask = ask;
    short_ask.who = ask.who.substr(0, kLongestWho);
    if (ask.queue) {
      wakes_.Expect(ask.token);
    }
    LockAnswer answer;
    const Status done = ChangeOne(ask.name, ask.epoch, [&](Draft& draft) -> Status {
      if (draft.epoch != ask.epoch) {
        answer = {LockAnswer::Kind::kSealed, {draft.epoch, 0}, milliseconds(0)};
        return {};
      }
      const bool known = draft.entry.Knows(ask.token);
      answer = draft.entry.Ask(short_ask, NextFence(draft, ask.epoch), draft.now, draft.turns,
                               ask.queue ? home_ : 0);
      if (answer.kind == LockAnswer::Kind::kGranted) {
        draft.fence = std::max(draft.fence, answer.fence.token);
      }
      if (answer.kind == LockAnswer::Kind::kQueued && !known &&
          draft.entry.waiters() > limits_.max_waiters) {
        return Error{Code::kFull, Effect::kNone, "more wait for this name than max_waiters allows"};
      }
      return {};
    });
    if (!done || answer.kind != LockAnswer::Kind::kQueued) {
      wakes_.Forget(ask.token);  // whoever asks again expects anew
    }
    return done ? Result<LockAnswer>(answer) : done.error();
  }

  Status Await(const LockAsk& ask, BootTime until, const std::stop_token& stop) override {
    if (!can_.wakes) {
      return wakes_.AwaitLooking(
          ask.name, ask.token, until, stop,
          [&](const std::vector<Token>& waiting) { return TurnsOf(ask.name, waiting); });
    }
    {
      MutexLock lock(mutex_);
      if (!listens_) {
        listens_ = store_->Listen(
            home_, [this](const Token& token) { wakes_.Wake(token); },
            [this] { wakes_.WakeAll(); });
      }
      if (!listens_) {
        return Error{Code::kUnavailable, Effect::kNone, "the system gives no thread to listen"};
      }
    }
    wakes_.Await(ask.token, until, stop);
    return {};
  }

  // A name that others change all the time is no matter of the others in its batch.
  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    const auto left = ChangeEach(claims, [&](size_t i, Draft& draft) -> Status {
      answers[i] = draft.entry.Extend(claims[i], draft.now, draft.turns);
      return {};
    });
    for (const size_t i : left.value_or(std::vector<size_t>())) {
      answers[i] = Extended::kLater;
    }
    return left ? Status() : Status(left.error());
  }

  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override {
    for (const LockClaim& claim : claims) {
      wakes_.Forget(claim.token);
    }
    const auto left = ChangeEach(claims, [&](size_t i, Draft& draft) -> Status {
      answers[i] = draft.entry.Free(claims[i].token, draft.now, draft.turns);
      return {};
    });
    return AllDone(left, claims.size());
  }

  Result<size_t> AskBack(std::string_view name) override {
    size_t asked = 0;
    const Status done = ChangeOne(name, std::nullopt, [&](Draft& draft) -> Status {
      asked = draft.entry.AskBack(draft.now);
      return {};
    });
    return done ? Result<size_t>(asked) : done.error();
  }

  Result<Freed> Evict(std::string_view name, const Fence& fence) override {
    Freed freed = Freed::kNotHeld;
    const Status done = ChangeOne(name, std::nullopt, [&](Draft& draft) -> Status {
      freed = draft.entry.Evict(fence, draft.now, draft.turns);
      return {};
    });
    return done ? Result<Freed>(freed) : done.error();
  }

  Result<LockView> Look(std::string_view name) override {
    const auto draft = ReadOne(name);
    if (!draft) {
      return draft.error();
    }
    return LockView{std::string(name), draft->entry.Parties(draft->now)};
  }

  Result<std::vector<std::string>> Names(std::string_view after, size_t limit) override {
    return store_->Names(after, limit);
  }

  Result<uint32_t> Seal(uint32_t epoch) override { return store_->Seal(epoch); }

 private:
  using Rule = std::function<Status(size_t i, Draft& draft)>;

  // Also greater than that of a row which was swept: the clock has gone on since.
  static Fence NextFence(const Draft& draft, uint32_t epoch) {
    const auto micros =
        static_cast<uint64_t>(std::max<int64_t>(0, draft.now.time_since_epoch().count()));
    if (ONCEMQ_MUTANT("sql-fence-is-a-counter")) {
      return {epoch, draft.fence + 1};
    }
    return {epoch, std::max(draft.fence + 1, micros)};
  }

  static Result<Draft> DraftOf(const SqlSeen& seen) {
    auto entry = DecodeLockEntry(seen.state);
    if (!entry) {
      return Error{Code::kCorrupt, Effect::kNone, "the row of this lock is not ours"};
    }
    return Draft{*std::move(entry), seen.fence, seen.now, seen.epoch, {}};
  }

  Result<Draft> ReadOne(std::string_view name) {
    const auto seen = store_->Read({&name, 1});
    return seen ? DraftOf(seen->front()) : seen.error();
  }

  Result<std::vector<Token>> TurnsOf(std::string_view name, const std::vector<Token>& waiting) {
    const auto draft = ReadOne(name);
    if (!draft) {
      return draft.error();
    }
    std::vector<Token> turns;
    std::copy_if(waiting.begin(), waiting.end(), std::back_inserter(turns),
                 [&](const Token& token) { return draft->entry.MyTurn(token, draft->now); });
    return turns;
  }

  NameTurn::Door& DoorOf(std::string_view name) {
    return doors_[ProcessHash(name) % doors_.size()];
  }

  Status ChangeOne(std::string_view name, std::optional<uint32_t> epoch,
                   const std::function<Status(Draft&)>& rule) {
    const BootTime until = BootNow() + limits_.call;
    const NameTurn turn(DoorOf(name), until);
    const auto left = Change(
        {&name, 1}, epoch, [&](size_t, Draft& draft) { return rule(draft); }, until);
    return AllDone(left, 1);
  }

  static Status AllDone(const Result<std::vector<size_t>>& left, size_t all) {
    if (!left) {
      return left.error();
    }
    if (left->empty()) {
      return {};
    }
    return Error{Code::kUnavailable, left->size() < all ? Effect::kUnknown : Effect::kNone,
                 "others change this lock all the time"};
  }

  Result<std::vector<size_t>> ChangeEach(std::span<const LockClaim> claims, const Rule& rule) {
    std::vector<std::string_view> names;
    names.reserve(claims.size());
    for (const LockClaim& claim : claims) {
      names.push_back(claim.name);
    }
    const BootTime until = BootNow() + limits_.call;
    if (names.size() != 1) {
      return Change(names, std::nullopt, rule, until);
    }
    const NameTurn turn(DoorOf(names.front()), until);
    return Change(names, std::nullopt, rule, until);
  }

  // Reads, judges and swaps until nothing is left that somebody else changed meanwhile, or the time
  // is over: answers what is left.
  Result<std::vector<size_t>> Change(std::span<const std::string_view> names,
                                     std::optional<uint32_t> epoch, const Rule& rule,
                                     BootTime until) {
    // In their order, so that calls which change several in one transaction never wait in a circle.
    std::vector<size_t> left(names.size());
    std::iota(left.begin(), left.end(), size_t{0});
    std::stable_sort(left.begin(), left.end(),
                     [&](size_t a, size_t b) { return names[a] < names[b]; });
    for (uint32_t tries = 0; !left.empty(); tries++) {
      if (tries > 0 && BootNow() >= until) {
        break;
      }
      Pause(tries);
      auto again = Once(names, left, epoch, rule);
      if (!again) {
        Error error = again.error();
        error.effect = left.size() < names.size() ? Effect::kUnknown : error.effect;
        return error;
      }
      left = *std::move(again);
    }
    return left;
  }

  // Answers those that have to be done again. Those of one name, as many counted holds have, are
  // judged one behind the other and swapped once: they would overtake each other.
  Result<std::vector<size_t>> Once(std::span<const std::string_view> names,
                                   const std::vector<size_t>& which, std::optional<uint32_t> epoch,
                                   const Rule& rule) {
    const bool each = ONCEMQ_MUTANT("sql-claims-of-a-name-one-by-one");
    std::vector<std::string_view> asked;
    for (const size_t i : which) {
      if (asked.empty() || asked.back() != names[i] || each) {
        asked.push_back(names[i]);
      }
    }
    const auto seen = store_->Read(asked);
    if (!seen) {
      return seen.error();
    }
    std::vector<SqlSwap> swaps;
    std::vector<std::span<const size_t>> swapped;
    std::vector<Token> ours;
    auto next = which.begin();
    for (size_t k = 0; k < asked.size(); k++) {
      auto draft = DraftOf((*seen)[k]);
      if (!draft) {
        return draft.error();
      }
      const auto first = next;
      do {
        if (const Status judged = rule(*next, *draft); !judged) {
          return judged.error();
        }
      } while (++next != which.end() && names[*next] == asked[k] && !each);
      if (auto swap = SwapOf(asked[k], (*seen)[k], *draft, epoch, ours)) {
        swaps.push_back(*std::move(swap));
        swapped.emplace_back(first, next);
      }
    }
    if (swaps.empty()) {
      return std::vector<size_t>();
    }
    const auto done = store_->Swap(swaps);
    // Also when nobody knows whether it was done: asking decides.
    for (const Token& token : ours) {
      wakes_.Wake(token);
    }
    if (!done) {
      return done.error();
    }
    std::vector<size_t> again;
    for (size_t k = 0; k < swaps.size(); k++) {
      if (!(*done)[k] && !ONCEMQ_MUTANT("sql-lost-swap-is-done")) {
        again.insert(again.end(), swapped[k].begin(), swapped[k].end());
      } else if (swaps[k].from == 0 || !ONCEMQ_MUTANT("sql-swept-behind-new-rows-only")) {
        SweepInTurn(swaps[k].from == 0 ? kNewRow : 1);
      }
    }
    return again;
  }

  // Nothing, if the rule changed nothing. `ours`: waiters of this engine, told without the store.
  std::optional<SqlSwap> SwapOf(std::string_view name, const SqlSeen& seen, const Draft& draft,
                                std::optional<uint32_t> epoch, std::vector<Token>& ours) const {
    std::string state = EncodeLockEntry(draft.entry);
    if (state == seen.state) {
      return std::nullopt;
    }
    SqlSwap swap{.name = name,
                 .from = seen.version,
                 // A row that is made anew goes on above those that were there before.
                 .to = std::max(seen.version + 1, seen.now.time_since_epoch().count()),
                 .fence = draft.fence,
                 .ends = std::max(draft.entry.ends(), draft.now),
                 .state = std::move(state),
                 .judged = draft.now,
                 .epoch = epoch};
    for (const Token& token : draft.turns) {
      const uint64_t home = draft.entry.HomeOf(token);
      if (home == home_) {
        ours.push_back(token);
      } else if (home != 0 && can_.wakes && !ONCEMQ_MUTANT("sql-told-nobody")) {
        swap.told.push_back({home, token});
      }
    }
    return swap;
  }

  // The first conflict is repeated at once. Then between nothing and twice as long each time.
  void Pause(uint32_t tries) {
    if (tries >= 2) {
      const uint64_t longest = 1u << std::min(tries - 1, kPauseDoublings);
      SleepFor(milliseconds(MixBits(home_ + ++pauses_) % (longest + 1)));
    }
  }

  void SweepInTurn(uint64_t weight) {
    std::string after;
    {
      MutexLock lock(mutex_);
      changed_ += weight;
      if (changed_ < kSweepEach || ONCEMQ_MUTANT("sql-never-swept")) {
        return;
      }
      changed_ = 0;
      after = swept_;
    }
    auto last = store_->Sweep(after);
    if (!last) {
      Log(LogLevel::kDebug, "locks", "old rows stay for now", {{"error", ToString(last.error())}});
      return;
    }
    MutexLock lock(mutex_);
    swept_ = *std::move(last);
  }

  const LockCapabilities can_;
  const SqlLockLimits limits_;
  const uint64_t home_ = SecureRandom64() | 1;  // 0 is nobody's
  const std::unique_ptr<SqlStore> store_;
  Wakes wakes_;
  std::atomic<uint64_t> pauses_{0};
  std::array<NameTurn::Door, 64> doors_;
  Mutex mutex_;
  uint64_t changed_ GUARDED_BY(mutex_) = 0;  // since the last sweep; a new row is kNewRow
  std::string swept_ GUARDED_BY(mutex_);
  // Last: its thread uses the waiters.
  std::shared_ptr<void> listens_ GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<LockEngine> MakeSqlLocks(std::unique_ptr<SqlStore> store,
                                         const LockCapabilities& can, const SqlLockLimits& limits) {
  return std::make_shared<SqlLocks>(std::move(store), can, limits);
}

}  // namespace oncemq
