// SPDX-License-Identifier: Apache-2.0
#include "museum.h"

#include <utility>

#include "oncemq/base/bytes.h"
#include "oncemq/base/mutex.h"
#include "oncemq/clients/redis_client.h"

namespace oncemq::testing {
namespace {

// What all of them are like: nobody waits, nobody can be looked at, and there is no fence.
class Exhibit : public LockEngine {
 public:
  explicit Exhibit(std::unique_ptr<RedisClient> client) : client_(std::move(client)) {}

  const LockCapabilities& capabilities() const override {
    static constexpr LockCapabilities kCan{.engine = "museum", .processes = true};
    return kCan;
  }
  Status Await(const LockAsk&, BootTime, const std::stop_token&) override {
    return Error{Code::kUnavailable, Effect::kNone, "nobody wakes here"};
  }
  Result<size_t> AskBack(std::string_view) override { return size_t{0}; }
  Result<Freed> Evict(std::string_view, const Fence&) override { return Freed::kNotHeld; }
  Result<LockView> Look(std::string_view) override { return LockView{}; }
  Result<std::vector<std::string>> Names(std::string_view, size_t) override {
    return std::vector<std::string>();
  }
  Result<uint32_t> Seal(uint32_t) override {
    return Error{Code::kInvalid, Effect::kNone, "no seals here"};
  }
  // They all believe that what is there is theirs.
  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    for (size_t i = 0; i < claims.size(); i++) {
      const auto done = Say({"PEXPIRE", claims[i].name, std::to_string(claims[i].lease.count())});
      if (!done) {
        return done.error();
      }
      answers[i] = done->integer == 1 ? Extended::kYes : Extended::kGone;
    }
    return {};
  }
  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override {
    for (size_t i = 0; i < claims.size(); i++) {
      const auto done = Say({"DEL", claims[i].name});
      if (!done) {
        return done.error();
      }
      answers[i] = done->integer == 1 ? Freed::kYes : Freed::kNotHeld;
    }
    return {};
  }

 protected:
  Result<RedisReply> Say(std::initializer_list<std::string_view> words) {
    return client_->Run(RedisCommand(words));
  }
  RedisClient& client() { return *client_; }
  static Result<LockAnswer> Granted(bool granted) {
    return LockAnswer{granted ? LockAnswer::Kind::kGranted : LockAnswer::Kind::kBusy, {}, {}};
  }

 private:
  const std::unique_ptr<RedisClient> client_;
};

class ReadThenWrite final : public Exhibit {
 public:
  using Exhibit::Exhibit;
  Result<LockAnswer> Ask(const LockAsk& ask) override {
    const auto there = Say({"EXISTS", ask.name});
    if (!there) {
      return there.error();
    }
    if (there->integer != 0) {
      return Granted(false);
    }
    const auto set = Say({"SET", ask.name, "mine", "PX", std::to_string(ask.lease.count())});
    return set ? Granted(true) : set.error();
  }
};

class BlindDelete final : public Exhibit {
 public:
  using Exhibit::Exhibit;
  Result<LockAnswer> Ask(const LockAsk& ask) override {
    const auto set = Say({"SET", ask.name, "mine", "NX", "PX", std::to_string(ask.lease.count())});
    return set ? Granted(set->kind == RedisReply::Kind::kStatus) : set.error();
  }
};

class ClientClocks final : public Exhibit {
 public:
  ClientClocks(std::unique_ptr<RedisClient> client, milliseconds error)
      : Exhibit(std::move(client)), error_(error) {}
  Result<LockAnswer> Ask(const LockAsk& ask) override {
    const int64_t now = SystemClock::Instance().Wall().micros / 1000 + error_.count();
    const std::string ends = std::to_string(now + ask.lease.count());
    const auto set = Say({"SETNX", ask.name, ends});
    if (!set || set->integer == 1) {
      return set ? Granted(true) : set.error();
    }
    const auto seen = Say({"GET", ask.name});
    const auto until = seen ? ParseDecimal(seen->text) : std::nullopt;
    if (!until || *until >= now) {
      return Granted(false);
    }
    // Ended, by our clock: whoever swaps first has it.
    const auto swapped = Say({"GETSET", ask.name, ends});
    return swapped ? Granted(swapped->text == seen->text) : swapped.error();
  }
  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    for (size_t i = 0; i < claims.size(); i++) {
      const int64_t now = SystemClock::Instance().Wall().micros / 1000 + error_.count();
      const auto done =
          Say({"SET", claims[i].name, std::to_string(now + claims[i].lease.count()), "XX"});
      if (!done) {
        return done.error();
      }
      answers[i] = Extended::kYes;
    }
    return {};
  }

 private:
  const milliseconds error_;
};

class ReadersJudge final : public Exhibit {
 public:
  using Exhibit::Exhibit;
  Result<LockAnswer> Ask(const LockAsk& ask) override {
    const int64_t now = SystemClock::Instance().Wall().micros / 1000;
    const std::string ends = std::to_string(now + ask.lease.count());
    const auto set = Say({"SETNX", ask.name, ends});
    if (!set || set->integer == 1) {
      return set ? Granted(true) : set.error();
    }
    const auto seen = Say({"GET", ask.name});
    const auto until = seen ? ParseDecimal(seen->text) : std::nullopt;
    if (!until || *until >= now) {
      return Granted(false);
    }
    const auto taken = Say({"SET", ask.name, ends});
    return taken ? Granted(true) : taken.error();
  }
  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    for (size_t i = 0; i < claims.size(); i++) {
      const int64_t now = SystemClock::Instance().Wall().micros / 1000;
      const auto done =
          Say({"SET", claims[i].name, std::to_string(now + claims[i].lease.count()), "XX"});
      if (!done) {
        return done.error();
      }
      answers[i] = Extended::kYes;
    }
    return {};
  }
};

// By the book: one step to take it, and only its owner extends and frees.
class NoFence : public Exhibit {
 public:
  using Exhibit::Exhibit;
  Result<LockAnswer> Ask(const LockAsk& ask) override {
    const auto set = Call(ask_, {ask.name, TextOf(ask.token), std::to_string(ask.lease.count())});
    return set ? Granted(*set == 1) : set.error();
  }
  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    for (size_t i = 0; i < claims.size(); i++) {
      const LockClaim& claim = claims[i];
      const auto done =
          Call(extend_, {claim.name, TextOf(claim.token), std::to_string(claim.lease.count())});
      if (!done) {
        return done.error();
      }
      answers[i] = *done == 1 ? Extended::kYes : Extended::kGone;
    }
    return {};
  }
  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override {
    for (size_t i = 0; i < claims.size(); i++) {
      const auto done = Call(free_, {claims[i].name, TextOf(claims[i].token), "released"});
      if (!done) {
        return done.error();
      }
      answers[i] = *done == 1 ? Freed::kYes : Freed::kNotHeld;
    }
    return {};
  }

 private:
  static std::string TextOf(const Token& token) {
    return std::to_string(token.process) + "." + std::to_string(token.attempt);
  }
  Result<int64_t> Call(const RedisScript& script, const RedisCommand& words) {
    const auto replies = client().Call(script, 1, {&words, 1});
    if (!replies) {
      return replies.error();
    }
    return replies->front().integer;
  }

  // An ask that is repeated finds itself.
  const RedisScript ask_{
      "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], "
      "ARGV[2]) "
      "end return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0"};
  const RedisScript extend_{
      "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
      "return redis.call('PEXPIRE', KEYS[1], ARGV[2])"};
  const RedisScript free_{
      "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
      "redis.call('PUBLISH', 'museum', ARGV[2]) return redis.call('DEL', KEYS[1])"};
};

class AllWoken final : public NoFence {
 public:
  AllWoken(std::unique_ptr<RedisClient> client, const RedisPlace& place)
      : NoFence(std::move(client)),
        listener_(RedisListener::Start(
            place, {}, "museum", [this](std::string_view) { Wake(); }, [](bool) {})) {}
  Result<LockAnswer> Ask(const LockAsk& ask) override {
    {
      MutexLock lock(mutex_);
      woken_ = false;
    }
    auto answer = NoFence::Ask(ask);
    if (answer && answer->kind == LockAnswer::Kind::kBusy && ask.queue) {
      return LockAnswer{LockAnswer::Kind::kQueued, {}, ask.lease};
    }
    return answer;
  }
  Status Await(const LockAsk&, BootTime until, const std::stop_token& stop) override {
    const BootTime now = SystemClock::Instance().Boot();
    MutexLock lock(mutex_);
    changed_.wait_for(mutex_, stop, until - now, [this] { return woken_; });
    return {};
  }

 private:
  void Wake() {
    MutexLock lock(mutex_);
    woken_ = true;
    changed_.notify_all();
  }

  Mutex mutex_;
  ConditionVariable changed_;
  bool woken_ = false;
  const std::unique_ptr<RedisListener> listener_;  // last: its thread uses the rest
};

}  // namespace

Result<std::shared_ptr<LockEngine>> OpenExhibit(std::string_view name, std::string_view redis,
                                                milliseconds clock_error) {
  const auto place = ParseRedisPlace(redis);
  if (!place) {
    return place.error();
  }
  auto client = RedisClient::Open(*place);
  if (!client) {
    return client.error();
  }
  const auto as = [&](auto exhibit) { return std::shared_ptr<LockEngine>(std::move(exhibit)); };
  if (name == "read-then-write") {
    return as(std::make_shared<ReadThenWrite>(*std::move(client)));
  }
  if (name == "blind-delete") {
    return as(std::make_shared<BlindDelete>(*std::move(client)));
  }
  if (name == "client-clocks") {
    return as(std::make_shared<ClientClocks>(*std::move(client), clock_error));
  }
  if (name == "readers-judge") {
    return as(std::make_shared<ReadersJudge>(*std::move(client)));
  }
  if (name == "no-fence") {
    return as(std::make_shared<NoFence>(*std::move(client)));
  }
  if (name == "all-woken") {
    return as(std::make_shared<AllWoken>(*std::move(client), *place));
  }
  return Error{Code::kInvalid, Effect::kNone, "the museum has no " + std::string(name)};
}

}  // namespace oncemq::testing
