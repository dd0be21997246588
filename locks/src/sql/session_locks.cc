// SPDX-License-Identifier: Apache-2.0
#include "session_locks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <thread>

#include "oncemq/base/bytes.h"
#include "oncemq/base/hash.h"
#include "oncemq/base/mutant.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/start_thread.h"
#include "oncemq/locks/lock_doubts.h"

namespace oncemq {
namespace {

constexpr size_t kLongestSessionWho = 512;
// Connections that hold nothing are kept for the next holds.
constexpr size_t kMostIdle = 4;
constexpr BootTime kNotYet = BootTime::max();
// Between two looks at the connections of what is held.
constexpr milliseconds kBetweenTries{500};

// A name that this process holds, or asks for now. Its times belong to the engine's mutex.
struct Held {
  Held(const LockAsk& ask, uint64_t number)
      : name(ask.name),
        hash(static_cast<int64_t>(number)),
        word("oncemq:" + Hex(number)),
        token(ask.token),
        who(ask.who.substr(0, kLongestSessionWho)) {}

  const std::string name;
  const int64_t hash;
  const std::string word;
  const Token token;
  const std::string who;
  BootTime until = kNotYet;
  bool asked_back = false;
  Mutex talk;                                      // of whoever asks the database about it
  std::unique_ptr<SqlLine> line GUARDED_BY(talk);  // none: not yet, or it is over
};
using HeldPtr = std::shared_ptr<Held>;

class SessionLocks final : public LockEngine {
 public:
  SessionLocks(std::unique_ptr<SqlClient> client, const LockCapabilities& can,
               const SessionLockWords& words, const SessionLockLimits& limits)
      : can_(can), words_(words), limits_(limits), client_(std::move(client)) {}
  ~SessionLocks() override {
    {
      MutexLock lock(mutex_);
      ending_ = true;
      changed_.notify_all();
    }
    if (thread_) {
      thread_->join();
    }
  }
  bool Start() {
    thread_ = StartThread("oncemq-sessions", [this] {
      while (!Ending()) {
        const std::vector<HeldPtr> ended = AwaitEnded();
        std::vector<bool> freed(ended.size());
        static_cast<void>(EndAll(ended, freed));
        LookForLost();
      }
    });
    return thread_.has_value();
  }

  const LockCapabilities& capabilities() const override { return can_; }

  Result<LockAnswer> Ask(const LockAsk& ask) override {
    if (ask.epoch != 0) {
      return LockAnswer{LockAnswer::Kind::kSealed, {}, milliseconds(0)};
    }
    if (ask.mode != LockMode::kExclusive) {
      return Error{Code::kInvalid, Effect::kNone, "this engine knows no readers and counts nobody"};
    }
    HeldPtr held;
    bool mine = false;
    {
      MutexLock lock(mutex_);
      HeldPtr& there = held_[std::string(ask.name)];
      mine = there && there->token == ask.token && there->until != kNotYet;
      if (there && !mine) {
        return LockAnswer{};
      }
      if (!there && held_.size() > limits_.max_holds) {
        held_.erase(std::string(ask.name));
        return Error{Code::kFull, Effect::kNone, "more names are held than max_holds allows"};
      }
      if (!there) {
        there = std::make_shared<Held>(ask, HashOf(ask.name));
      }
      held = there;
    }
    const auto granted = mine ? Confirmed(held, ask.lease) : Taken(held, ask.lease);
    if (!granted) {
      return granted.error();
    }
    return LockAnswer{*granted ? LockAnswer::Kind::kGranted : LockAnswer::Kind::kBusy, {}, {}};
  }

  // Nobody is told anything.
  Status Await(const LockAsk&, BootTime until, const std::stop_token& stop) override {
    MutexLock lock(mutex_);
    changed_.wait_for(mutex_, stop, until - BootNow(), [] { return false; });
    return {};
  }

  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    bool silent = false;
    for (size_t i = 0; i < claims.size(); i++) {
      answers[i] = Extended::kGone;
      const HeldPtr held = Find(claims[i]);
      if (held && silent) {
        answers[i] = Extended::kLater;
        continue;
      }
      const auto yes = held ? Confirmed(held, claims[i].lease) : Result<bool>(false);
      silent = silent || NoAnswer(yes);
      // A doubtful connection was hung up: what it held is gone, and that is an answer.
      if (yes && *yes) {
        MutexLock lock(mutex_);
        answers[i] = held->asked_back ? Extended::kAskedBack : Extended::kYes;
      }
    }
    return {};
  }

  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override {
    std::vector<HeldPtr> all;
    for (const LockClaim& claim : claims) {
      const HeldPtr held = Find(claim);
      all.push_back(held && Drop(held) ? held : nullptr);
    }
    std::vector<bool> freed(claims.size());
    const Status done = EndAll(all, freed);
    for (size_t i = 0; i < claims.size(); i++) {
      answers[i] = freed[i] ? Freed::kYes : Freed::kNotHeld;
    }
    return done;
  }

  Result<size_t> AskBack(std::string_view name) override {
    MutexLock lock(mutex_);
    const auto at = held_.find(name);
    if (at == held_.end()) {
      return size_t{0};
    }
    at->second->asked_back = true;
    return size_t{1};
  }
  Result<Freed> Evict(std::string_view, const Fence&) override { return Freed::kNotHeld; }
  Result<LockView> Look(std::string_view name) override {
    MutexLock lock(mutex_);
    LockView view{std::string(name), {}};
    const auto at = held_.find(name);
    if (at != held_.end() && at->second->until != kNotYet) {
      const auto left = std::chrono::ceil<milliseconds>(at->second->until - BootNow());
      view.parties.push_back(
          {.holds = true, .left = std::max(left, milliseconds(0)), .who = at->second->who});
    }
    return view;
  }
  Result<std::vector<std::string>> Names(std::string_view, size_t) override {
    return Error{Code::kInvalid, Effect::kNone,
                 "locks of sessions have numbers, no names: they cannot be listed"};
  }
  Result<uint32_t> Seal(uint32_t epoch) override {
    if (epoch == 0) {
      return uint32_t{0};
    }
    return Error{Code::kInvalid, Effect::kNone, "this engine cannot be sealed"};
  }

  void Listen(DoubtListener& listener) override { doubts_.Listen(listener); }
  void Unlisten(DoubtListener& listener) override { doubts_.Unlisten(listener); }

 private:
  // Two names with one number exclude each other: that is too much, and never too little.
  uint64_t HashOf(std::string_view name) const {
    return StableHash(std::to_string(limits_.space.size()) + ":" + limits_.space + ":" +
                      std::string(name));
  }

  HeldPtr Find(const LockClaim& claim) {
    MutexLock lock(mutex_);
    const auto at = held_.find(claim.name);
    const bool found = at != held_.end() && at->second->until != kNotYet &&
                       at->second->until > BootNow() &&
                       (at->second->token == claim.token || ONCEMQ_MUTANT("session-any-token"));
    return found ? at->second : nullptr;
  }
  // False: somebody else did.
  bool Drop(const HeldPtr& held) {
    MutexLock lock(mutex_);
    const auto at = held_.find(held->name);
    if (at == held_.end() || at->second != held) {
      return false;
    }
    held_.erase(at);
    return true;
  }
  bool KeepUntil(const HeldPtr& held, BootTime until) {
    MutexLock lock(mutex_);
    const auto at = held_.find(held->name);
    const bool there = at != held_.end() && at->second == held;
    held->until = there ? until : held->until;
    changed_.notify_all();
    return there;
  }

  Result<bool> Says(SqlLine& line, std::string_view text, const Held& held) {
    const SqlStatement asks{
        text, {words_.word ? SqlValue(std::string_view(held.word)) : SqlValue(held.hash)}};
    const auto outcome = line.Run({&asks, 1}, BootNow() + limits_.call);
    if (!outcome) {
      return outcome.error();
    }
    if (outcome->refusal) {
      return SqlError(*outcome->refusal);
    }
    const auto& rows = outcome->answers.front().rows;
    return rows.size() == 1 && rows[0].at(0) == "1";
  }

  Result<std::unique_ptr<SqlLine>> IdleOrNew() {
    {
      MutexLock lock(mutex_);
      while (!idle_.empty()) {
        auto line = std::move(idle_.back());
        idle_.pop_back();
        if (line->Fresh()) {
          return line;
        }
      }
    }
    return client_->OpenOwn();
  }
  void Keep(std::unique_ptr<SqlLine> line) {
    MutexLock lock(mutex_);
    if (idle_.size() < kMostIdle) {
      idle_.push_back(std::move(line));
    }
  }

  // The holder counts from before this, and the hold ends here a lease behind it: later.
  Result<bool> Taken(const HeldPtr& held, milliseconds lease) {
    MutexLock talk(held->talk);
    auto line = IdleOrNew();
    const auto taken = line ? Says(**line, words_.take, *held) : Result<bool>(line.error());
    if (taken && *taken) {
      held->line = *std::move(line);
      KeepUntil(held, BootNow() + lease);
      return true;
    }
    if (taken) {
      Keep(*std::move(line));
    }
    Drop(held);
    return taken;
  }

  // Whether it is held still, by the database's word; then for one lease more.
  Result<bool> Confirmed(const HeldPtr& held, milliseconds lease) {
    MutexLock talk(held->talk);
    const auto there = held->line && held->line->Fresh() ? Says(*held->line, words_.held, *held)
                                                         : Result<bool>(false);
    if (there && (*there || ONCEMQ_MUTANT("session-believed-to-live"))) {
      return KeepUntil(held, BootNow() + lease);
    }
    held->line.reset();
    Drop(held);
    return there;
  }

  static bool NoAnswer(const Result<bool>& said) {
    return !said && said.error().code == Code::kTimeout &&
           !ONCEMQ_MUTANT("silent-database-asked-for-each");
  }

  // Whether the database freed it. Not asked, it does when it sees that we have hung up.
  Result<bool> End(Held& held, bool ask) {
    MutexLock talk(held.talk);
    const auto freed = held.line && ask ? Says(*held.line, words_.free, held) : Result<bool>(false);
    if (freed && *freed) {
      Keep(std::move(held.line));
    }
    held.line.reset();
    return freed;
  }

  // Some are none. Failure: of one of them it is not known.
  Status EndAll(std::span<const HeldPtr> all, std::vector<bool>& freed) {
    Status done;
    bool silent = false;
    for (size_t i = 0; i < all.size(); i++) {
      const auto said = all[i] ? End(*all[i], !silent) : Result<bool>(false);
      silent = silent || NoAnswer(said);
      freed[i] = said && *said;
      done = said ? done : Status(said.error());
    }
    return done;
  }

  bool Ending() {
    MutexLock lock(mutex_);
    return ending_;
  }

  // Waits for them, and no longer than to the next look.
  std::vector<HeldPtr> AwaitEnded() {
    MutexLock lock(mutex_);
    const BootTime look_at = held_.empty() ? kNotYet : BootNow() + kBetweenTries;
    for (;;) {
      const BootTime now = BootNow();
      std::vector<HeldPtr> ended;
      BootTime until = held_.empty() ? kNotYet : look_at;
      for (auto at = held_.begin(); at != held_.end();) {
        const BootTime ends = ONCEMQ_MUTANT("session-never-ends") ? kNotYet : at->second->until;
        if (ends <= now) {
          ended.push_back(std::move(at->second));
          at = held_.erase(at);
        } else {
          until = std::min(until, ends);
          ++at;
        }
      }
      if (ending_ || !ended.empty() || until <= now) {
        return ended;
      }
      if (until == kNotYet) {
        changed_.wait(mutex_);
        return ended;
      }
      changed_.wait_for(mutex_, std::max<microseconds>(until - now, milliseconds(1)));
    }
  }

  // What the database ended. Whoever asks it about a hold right now learns it from the answer.
  void LookForLost() {
    std::vector<HeldPtr> all;
    {
      MutexLock lock(mutex_);
      for (const auto& [name, held] : held_) {
        all.push_back(held);
      }
    }
    bool lost = false;
    for (const HeldPtr& held : all) {
      if (held->talk.try_lock()) {
        if (held->line && !held->line->Fresh() && !ONCEMQ_MUTANT("session-believed-to-live")) {
          held->line.reset();
          lost = Drop(held) || lost;
        }
        held->talk.unlock();
      }
    }
    if (lost && !ONCEMQ_MUTANT("session-loss-not-told")) {
      doubts_.HoldsAreInDoubt();
    }
  }

  const LockCapabilities can_;
  const SessionLockWords words_;
  const SessionLockLimits limits_;
  const std::unique_ptr<SqlClient> client_;
  LockDoubts doubts_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::map<std::string, HeldPtr, std::less<>> held_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<SqlLine>> idle_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false;
  std::optional<std::thread> thread_;
};

}  // namespace

Result<std::shared_ptr<LockEngine>> MakeSessionLocks(std::unique_ptr<SqlClient> client,
                                                     const LockCapabilities& can,
                                                     const SessionLockWords& words,
                                                     const SessionLockLimits& limits) {
  auto locks = std::make_shared<SessionLocks>(std::move(client), can, words, limits);
  if (!locks->Start()) {
    return Error{Code::kUnavailable, Effect::kNone, "the system gives no threads"};
  }
  return std::shared_ptr<LockEngine>(std::move(locks));
}

}  // namespace oncemq
