// SPDX-License-Identifier: Apache-2.0
#include "sql_locks.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <numeric>

#include "../kept_who.h"
#include "../lock_entry.h"
#include "../lock_entry_codec.h"
#include "name_turn.h"
#include "oncemq/base/check.h"
#include "oncemq/base/hash.h"
#include "oncemq/base/log.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/random.h"
#include "renewal_time.h"
#include "wakes.h"

namespace oncemq {
namespace {

// Each so many new rows, as many old ones are looked at four times over. A change of a row that is
// there counts for less: it adds none, but what a former load left would stay without it.
constexpr uint64_t kNewRow = 16;
constexpr uint64_t kSweepEach = kNewRow * kSqlPortion / 4;
constexpr uint32_t kPauseDoublings = 5;
// How often a name is swapped in vain before its row is locked. A hold that is not renewed is lost,
// so its owner tries less.
constexpr uint32_t kSwapsOfRequests = 2;
constexpr uint32_t kSwapsOfHolders = 1;

// A locked round keeps its connection while it waits for its row. Asks leave two connections to
// renewals and releases: a hold that finds none is lost.
constexpr size_t kConnectionsOfHolders = 2;

// A request in its locked round.
class LockedRequest {
 public:
  // `now`: so many are in theirs.
  LockedRequest(std::atomic<size_t>& now, size_t most)
      : now_(now), in_(now.fetch_add(1, std::memory_order_relaxed) < most) {
    if (!in_) {
      now_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  ~LockedRequest() {
    if (in_) {
      const size_t were = now_.fetch_sub(1, std::memory_order_relaxed);
      ONCEMQ_CHECK(were > 0, "a locked round is counted from its begin to its end");
    }
  }
  LockedRequest(const LockedRequest&) = delete;
  LockedRequest& operator=(const LockedRequest&) = delete;

  // False: as many as may be are in theirs already.
  bool in() const { return in_; }

 private:
  std::atomic<size_t>& now_;
  const bool in_;
};

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

  Result<LockAnswer> Request(const AcquireRequest& request) override {
    AcquireRequest short_request = request;
    short_request.who = request.who.substr(0, kLongestKeptWho);
    if (request.queue) {
      wakes_.Expect(request.token);
    }
    LockAnswer answer;
    const Status done = ChangeOne(request.name, request.epoch, [&](Draft& draft) -> Status {
      if (draft.epoch != request.epoch) {
        answer = {LockAnswer::Kind::kSealed, {draft.epoch, 0}, milliseconds(0)};
        return {};
      }
      const bool known = draft.entry.Knows(request.token);
      answer = draft.entry.Request(short_request, NextFence(draft, request.epoch), draft.now,
                                   draft.turns, request.queue ? home_ : 0);
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
      wakes_.Forget(request.token);  // whoever asks again expects anew
    }
    return done ? Result<LockAnswer>(answer) : done.error();
  }

  Status Await(const AcquireRequest& request, BootTime until,
               const std::stop_token& stop) override {
    if (!can_.wakes) {
      return wakes_.AwaitPolling(
          request.name, request.token, until, stop,
          [&](const std::vector<Token>& waiting) { return TurnsOf(request.name, waiting); });
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
    wakes_.Await(request.token, until, stop);
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

  Result<size_t> Recall(std::string_view name) override {
    size_t asked = 0;
    const Status done = ChangeOne(name, std::nullopt, [&](Draft& draft) -> Status {
      asked = draft.entry.Recall(draft.now);
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

  Result<LockView> Read(std::string_view name) override {
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
    return {epoch, std::max(draft.fence + 1, micros)};
  }

  // The clock of a statement may stand since before the last change of the row, for as long as the
  // call takes at most. A hold that was renewed meanwhile is not cut (T7).
  Result<Draft> DraftOf(const SqlSeen& seen) const {
    auto entry = DecodeLockEntry(seen.state);
    if (!entry) {
      return Error{Code::kCorrupt, Effect::kNone, "the row of this lock is not ours"};
    }
    entry->CutEnds(seen.now + limits_.call);
    return Draft{*std::move(entry), seen.fence, seen.now, seen.epoch, {}};
  }

  Result<Draft> ReadOne(std::string_view name) {
    const auto seen = store_->Read({&name, 1}, limits_.call);
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
    const Rule one = [&](size_t, Draft& draft) { return rule(draft); };
    return AllDone(Change({{&name, 1}, epoch, one, kSwapsOfRequests, limits_.call, limits_.call}),
                   1);
  }

  static Status AllDone(const Result<std::vector<size_t>>& left, size_t all) {
    if (!left) {
      return left.error();
    }
    if (left->empty()) {
      return {};
    }
    return Error{Code::kBusy, left->size() < all ? Effect::kUnknown : Effect::kNone,
                 "others change this lock all the time"};
  }

  Result<std::vector<size_t>> ChangeEach(std::span<const LockClaim> claims, const Rule& rule) {
    std::vector<std::string_view> names;
    names.reserve(claims.size());
    for (const LockClaim& claim : claims) {
      names.push_back(claim.name);
    }
    // A short time counts twice: a call that was overtaken needs a second look.
    const milliseconds answer = std::min(limits_.call, AnswerWithin(claims));
    return Change(
        {names, std::nullopt, rule, kSwapsOfHolders, answer, std::min(limits_.call, 2 * answer)});
  }

  // One call: the names that it changes, how, and for how long.
  struct Work {
    std::span<const std::string_view> names;
    std::optional<uint32_t> epoch;
    const Rule& rule;
    uint32_t swaps;       // before rows are locked
    milliseconds answer;  // how long each of the server is waited for
    milliseconds tries;   // how long it is tried
  };

  // In their order, so that calls which change several in one transaction never wait in a circle.
  static std::vector<size_t> InOrder(std::span<const std::string_view> names) {
    std::vector<size_t> order(names.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return names[a] < names[b]; });
    return order;
  }

  // Reads, judges and swaps until nothing is left that somebody else changed meanwhile, or the time
  // is over: answers the names that are left. Half of the time it may wait for threads of its own
  // process.
  Result<std::vector<size_t>> Change(const Work& work) {
    const BootTime began = BootNow();
    std::optional<NameTurn> turn;
    if (work.names.size() == 1) {
      turn.emplace(DoorOf(work.names.front()), began + work.tries / 2);
    }
    const BootTime until = began + work.tries;
    std::vector<size_t> left = InOrder(work.names);
    for (uint32_t tries = 0; !left.empty(); tries++) {
      if (tries > 0 && BootNow() >= until) {
        break;
      }
      const bool due = tries >= work.swaps;
      std::optional<LockedRequest> request;
      if (due && work.swaps == kSwapsOfRequests) {
        request.emplace(locked_requests_, most_locked_requests_);
      }
      const bool locked = due && (!request || request->in());  // else it is swapped once more
      Pause(locked ? tries - work.swaps : tries);
      auto again = locked ? OnceLocked(work, left, until) : Once(work, left);
      if (!again) {
        Error error = again.error();
        error.effect = left.size() < work.names.size() ? Effect::kUnknown : error.effect;
        return error;
      }
      left = *std::move(again);
    }
    return left;
  }

  // Where those of the same name end, which follow each other.
  static size_t EndOfName(const Work& work, const std::vector<size_t>& which, size_t first) {
    size_t end = first + 1;
    while (end < which.size() && work.names[which[end]] == work.names[which[first]]) {
      end++;
    }
    return end;
  }

  // Answers those that have to be done again. Those of one name, as many counted holds have, are
  // judged one after the other and swapped once: they would overtake each other.
  Result<std::vector<size_t>> Once(const Work& work, const std::vector<size_t>& which) {
    std::vector<std::string_view> asked;
    std::vector<std::span<const size_t>> same;
    for (size_t first = 0, end = 0; first < which.size(); first = end) {
      end = EndOfName(work, which, first);
      asked.push_back(work.names[which[first]]);
      same.push_back(std::span(which).subspan(first, end - first));
    }
    const auto seen = store_->Read(asked, work.answer);
    if (!seen) {
      return seen.error();
    }
    std::vector<SqlSwap> swaps;
    std::vector<std::span<const size_t>> swapped;
    std::vector<Token> ours;
    for (size_t k = 0; k < asked.size(); k++) {
      auto swap = Judge(work, same[k], (*seen)[k], ours);
      if (!swap) {
        return swap.error();
      }
      if (*swap) {
        swaps.push_back(**std::move(swap));
        swapped.push_back(same[k]);
      }
    }
    if (swaps.empty()) {
      return std::vector<size_t>();
    }
    const auto done = store_->Swap(swaps, work.answer);
    WakeAll(ours);
    if (!done) {
      return done.error();
    }
    std::vector<size_t> again;
    for (size_t k = 0; k < swaps.size(); k++) {
      if (!(*done)[k]) {
        again.insert(again.end(), swapped[k].begin(), swapped[k].end());
      } else {
        SweepInTurn(swaps[k].from == 0 ? kNewRow : 1);
      }
    }
    return again;
  }

  // The same with locked rows, one name after the other: no holder of a row waits for another row.
  // A name without a row is swapped, as there is nothing to lock.
  Result<std::vector<size_t>> OnceLocked(const Work& work, const std::vector<size_t>& which,
                                         BootTime until) {
    std::vector<size_t> again;
    for (size_t first = 0, end = 0; first < which.size(); first = end) {
      end = EndOfName(work, which, first);
      const std::vector<size_t> same(which.begin() + static_cast<std::ptrdiff_t>(first),
                                     which.begin() + static_cast<std::ptrdiff_t>(end));
      if (first > 0 && BootNow() >= until) {
        again.insert(again.end(), which.begin() + static_cast<std::ptrdiff_t>(first), which.end());
        return again;
      }
      const auto left = OneLocked(work, same, until);
      if (!left) {
        Error error = left.error();
        error.effect = first > 0 ? Effect::kUnknown : error.effect;  // others were changed
        return error;
      }
      again.insert(again.end(), left->begin(), left->end());
    }
    return again;
  }

  // The server gives up before we do, so a row that others have is no outage.
  Result<std::vector<size_t>> OneLocked(const Work& work, const std::vector<size_t>& same,
                                        BootTime until) {
    const auto left = std::chrono::ceil<milliseconds>(until - BootNow());
    const SqlWaits waits{std::clamp(left, milliseconds(1), work.answer * 3 / 4 + milliseconds(1)),
                         work.answer};
    std::vector<Token> ours;
    bool changed = false;
    const auto done = store_->SwapLocked(work.names[same.front()], work.epoch.has_value(), waits,
                                         [&](const SqlSeen& seen) {
                                           auto swap = Judge(work, same, seen, ours);
                                           changed = swap && *swap;
                                           return swap;
                                         });
    WakeAll(ours);
    if (!done) {
      return done.error();
    }
    if (*done == SqlLocked::kNoRow) {
      return Once(work, same);
    }
    if (*done == SqlLocked::kBusy) {
      return same;
    }
    if (changed) {
      SweepInTurn(1);
    }
    return std::vector<size_t>();
  }

  // All of one name. Nothing, if nothing changed.
  Result<std::optional<SqlSwap>> Judge(const Work& work, std::span<const size_t> same,
                                       const SqlSeen& seen, std::vector<Token>& ours) const {
    auto draft = DraftOf(seen);
    if (!draft) {
      return draft.error();
    }
    for (const size_t i : same) {
      if (const Status judged = work.rule(i, *draft); !judged) {
        return judged.error();
      }
    }
    return SwapOf(work.names[same.front()], seen, *draft, work.epoch, ours);
  }

  // Also when nobody knows whether the swap was done: asking decides.
  void WakeAll(const std::vector<Token>& ours) {
    for (const Token& token : ours) {
      wakes_.Wake(token);
    }
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
      } else if (home != 0 && can_.wakes) {
        swap.notify.push_back({home, token});
      }
    }
    return swap;
  }

  // The first conflict is repeated at once, and so is the first with the row locked. Then between
  // nothing and twice as long each time.
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
      if (changed_ < kSweepEach) {
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
  const size_t most_locked_requests_ =
      std::max(limits_.max_connections, kConnectionsOfHolders + 1) - kConnectionsOfHolders;
  std::atomic<size_t> locked_requests_{0};
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
