// SPDX-License-Identifier: Apache-2.0
#include "museum.h"

#include <utility>

#include "oncemq/base/bytes.h"
#include "oncemq/base/mutex.h"
#include "oncemq/clients/redis_client.h"

namespace oncemq::testing {
namespace {

// By the book: one step to take it, and only its owner extends and frees. Nobody waits, nobody can
// be looked at, and there is no fence. The others do one thing otherwise, which is their flaw.
class ByTheBook : public LockEngine {
 public:
  explicit ByTheBook(std::unique_ptr<RedisClient> client) : client_(std::move(client)) {}

  const LockCapabilities& capabilities() const override {
    static constexpr LockCapabilities kCan{.engine = "museum", .processes = true};
    return kCan;
  }
  Result<LockAnswer> Ask(const LockAsk& ask) override {
    return Granted(Call(ask_, {ask.name, TextOf(ask.token), std::to_string(ask.lease.count())}));
  }
  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    for (size_t i = 0; i < claims.size(); i++) {
      const auto done = ExtendOne(claims[i]);
      if (!done) {
        return done.error();
      }
      answers[i] = *done == 1 ? Extended::kYes : Extended::kGone;
    }
    return {};
  }
  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override {
    for (size_t i = 0; i < claims.size(); i++) {
      const auto done = FreeOne(claims[i]);
      if (!done) {
        return done.error();
      }
      answers[i] = *done == 1 ? Freed::kYes : Freed::kNotHeld;
    }
    return {};
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

 protected:
  // 1: done; 0: not.
  virtual Result<int64_t> ExtendOne(const LockClaim& claim) {
    return Call(extend_, {claim.name, TextOf(claim.token), std::to_string(claim.lease.count())});
  }
  virtual Result<int64_t> FreeOne(const LockClaim& claim) {
    return Call(free_, {claim.name, TextOf(claim.token)});
  }

  static std::string TextOf(const Token& token) {
    return std::to_string(token.process) + "." + std::to_string(token.attempt);
  }
  static Result<LockAnswer> Granted(const Result<int64_t>& done) {
    if (!done) {
      return done.error();
    }
    return LockAnswer{*done == 1 ? LockAnswer::Kind::kGranted : LockAnswer::Kind::kBusy, {}, {}};
  }
  Result<RedisReply> Say(std::initializer_list<std::string_view> words) {
    return client_->Run(RedisCommand(words));
  }
  Result<int64_t> Call(const RedisScript& script, const RedisCommand& words) {
    const auto replies = client_->Call(script, 1, {&words, 1});
    if (!replies) {
      return replies.error();
    }
    const RedisReply& reply = replies->front();
    if (reply.kind == RedisReply::Kind::kError) {
      return RedisError(reply.text);
    }
    return reply.integer;
  }

 private:
  const std::unique_ptr<RedisClient> client_;
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
      "redis.call('PUBLISH', 'museum', 'released') return redis.call('DEL', KEYS[1])"};
};

class ReadThenWrite final : public ByTheBook {
 public:
  using ByTheBook::ByTheBook;
  Result<LockAnswer> Ask(const LockAsk& ask) override {
    const std::string mine = TextOf(ask.token);
    const auto there = Say({"GET", ask.name});
    if (!there) {
      return there.error();
    }
    if (there->kind != RedisReply::Kind::kNil && there->text != mine) {
      return Granted(0);
    }
    const auto set = Say({"SET", ask.name, mine, "PX", std::to_string(ask.lease.count())});
    return set ? Granted(1) : set.error();
  }
};

class BlindDelete final : public ByTheBook {
 public:
  using ByTheBook::ByTheBook;

 protected:
  Result<int64_t> FreeOne(const LockClaim& claim) override {
    const auto done = Say({"DEL", claim.name});
    return done ? Result<int64_t>(done->integer) : done.error();
  }
};

// The value is its owner and when it ends, which whoever looks judges by a clock of its own.
class JudgedByReaders : public ByTheBook {
 public:
  JudgedByReaders(std::unique_ptr<RedisClient> client, milliseconds clock_error)
      : ByTheBook(std::move(client)), clock_error_(clock_error) {}
  Result<LockAnswer> Ask(const LockAsk& ask) override {
    const int64_t now = Now();
    const std::string mine = TextOf(ask.token);
    const std::string value = mine + " " + std::to_string(now + ask.lease.count());
    const auto set = Say({"SETNX", ask.name, value});
    if (!set || set->integer == 1) {
      return set ? Granted(1) : set.error();
    }
    const auto seen = Say({"GET", ask.name});
    if (!seen) {
      return seen.error();
    }
    const size_t space = seen->text.find(' ');
    if (space == std::string::npos) {
      return Granted(0);  // freed in between
    }
    if (seen->text.substr(0, space) == mine) {
      return Granted(ExtendOne({ask.name, ask.token, ask.lease}));
    }
    const auto ends = ParseDecimal(seen->text.substr(space + 1));
    return ends && *ends < now ? Granted(Take(ask.name, seen->text, value)) : Granted(0);
  }

 protected:
  // It had ended when it was seen. Swaps what was seen, and nothing else.
  virtual Result<int64_t> Take(std::string_view name, std::string_view seen,
                               std::string_view value) {
    return Call(swap_, {name, seen, value});
  }
  Result<int64_t> ExtendOne(const LockClaim& claim) override {
    return Call(extend_,
                {claim.name, TextOf(claim.token), std::to_string(Now() + claim.lease.count())});
  }
  Result<int64_t> FreeOne(const LockClaim& claim) override {
    return Call(free_, {claim.name, TextOf(claim.token)});
  }

 private:
  int64_t Now() const {
    return SystemClock::Instance().Wall().micros / 1000 + clock_error_.count();
  }

  const milliseconds clock_error_;
  const RedisScript swap_{
      "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
      "redis.call('SET', KEYS[1], ARGV[2]) return 1"};
  // One that the network kept takes nothing from a later one.
  const RedisScript extend_{
      "local owner, ends = string.match(redis.call('GET', KEYS[1]) or '', '(%S+) (%d+)') "
      "if owner ~= ARGV[1] then return 0 end "
      "if tonumber(ends) < tonumber(ARGV[2]) then "
      "redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2]) end return 1"};
  const RedisScript free_{
      "if string.match(redis.call('GET', KEYS[1]) or '', '%S+') ~= ARGV[1] then return 0 end "
      "return redis.call('DEL', KEYS[1])"};
};

// On clocks that are right, but what is taken may have been taken since it was seen.
class ReadersJudge final : public JudgedByReaders {
 public:
  explicit ReadersJudge(std::unique_ptr<RedisClient> client)
      : JudgedByReaders(std::move(client), milliseconds(0)) {}

 protected:
  Result<int64_t> Take(std::string_view name, std::string_view, std::string_view value) override {
    const auto set = Say({"SET", name, value});
    return set ? Result<int64_t>(1) : set.error();
  }
};

class AllWoken final : public ByTheBook {
 public:
  AllWoken(std::unique_ptr<RedisClient> client, const RedisPlace& place)
      : ByTheBook(std::move(client)),
        listener_(RedisListener::Start(
            place, {}, "museum", [this](std::string_view) { Wake(); }, [](bool) {})) {}
  Result<LockAnswer> Ask(const LockAsk& ask) override {
    {
      MutexLock lock(mutex_);
      woken_ = false;
    }
    auto answer = ByTheBook::Ask(ask);
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
    return as(std::make_shared<JudgedByReaders>(*std::move(client), clock_error));
  }
  if (name == "readers-judge") {
    return as(std::make_shared<ReadersJudge>(*std::move(client)));
  }
  if (name == "no-fence") {
    return as(std::make_shared<ByTheBook>(*std::move(client)));
  }
  if (name == "all-woken") {
    return as(std::make_shared<AllWoken>(*std::move(client), *place));
  }
  return Error{Code::kInvalid, Effect::kNone, "the museum has no " + std::string(name)};
}

}  // namespace oncemq::testing
