// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>

#include "museum_exhibit.h"
#include "oncemq/base/bytes.h"
#include "oncemq/base/mutex.h"
#include "oncemq/clients/redis_client.h"

namespace oncemq::testing {
namespace {

int64_t WallMs(milliseconds clock_error) {
  return SystemClock::Instance().Wall().micros / 1000 + clock_error.count();
}

// One step to take it, a token, and scripts.
class OneStep : public Exhibit {
 public:
  explicit OneStep(std::unique_ptr<RedisClient> client) : client_(std::move(client)) {}
  Result<LockAnswer> Request(const AcquireRequest& request) override {
    return Granted(Call(
        request_, {request.name, TextOf(request.token), std::to_string(request.lease.count())}));
  }

 protected:
  Result<int64_t> ExtendOne(const LockClaim& claim) override {
    return Call(extend_, {claim.name, TextOf(claim.token), std::to_string(claim.lease.count())});
  }
  Result<int64_t> FreeOne(const LockClaim& claim) override {
    return Call(free_, {claim.name, TextOf(claim.token)});
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
  // A request that is repeated finds itself.
  const RedisScript request_{
      "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], "
      "ARGV[2]) "
      "end return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0"};
  const RedisScript extend_{
      "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
      "return redis.call('PEXPIRE', KEYS[1], ARGV[2])"};
  const RedisScript free_{
      "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
      "return redis.call('DEL', KEYS[1])"};
};

// SETNX, and GETSET where what is there has ended, as it is written down: the value is when it ends
// and nothing else, all of it by the client's own clock. It is for a time, so nothing is extended.
// Its DEL is blind and may come late, so it is wrong where clocks agree, too; but not as quickly.
class AsWritten final : public OneStep {
 public:
  AsWritten(std::unique_ptr<RedisClient> client, milliseconds clock_error)
      : OneStep(std::move(client)), clock_error_(clock_error) {}
  Result<LockAnswer> Request(const AcquireRequest& request) override {
    const int64_t now = WallMs(clock_error_);
    const std::string ends = std::to_string(now + request.lease.count() + 1);
    const auto set = Say({"SETNX", request.name, ends});
    if (!set) {
      return set.error();
    }
    if (set->integer == 1) {
      return Mine(request, ends);
    }
    const auto seen = Say({"GET", request.name});
    if (!seen || !HasEnded(*seen, now)) {
      return seen ? Granted(0) : seen.error();
    }
    const auto before = Say({"GETSET", request.name, ends});
    if (!before || !HasEnded(*before, now)) {
      return before ? Granted(0) : before.error();  // somebody was quicker
    }
    return Mine(request, ends);
  }
  Status Extend(std::span<const LockClaim>, std::span<Extended> answers) override {
    std::fill(answers.begin(), answers.end(), Extended::kLater);
    return {};
  }

 protected:
  // Deleted once, if it has not ended.
  Result<int64_t> FreeOne(const LockClaim& claim) override {
    int64_t ends = 0;
    {
      MutexLock lock(mutex_);
      const auto mine = mine_.extract(TextOf(claim.token));
      ends = mine ? mine.mapped() : 0;
    }
    if (ends < WallMs(clock_error_)) {
      return 0;
    }
    const auto gone = Say({"DEL", claim.name});
    return gone ? Result<int64_t>(gone->integer) : gone.error();
  }

 private:
  // One that is free again has not ended: whoever comes next gets it.
  static bool HasEnded(const RedisReply& value, int64_t now) {
    const auto ends = ParseDecimal(value.text);
    return ends && *ends < now;
  }
  Result<LockAnswer> Mine(const AcquireRequest& request, const std::string& ends) {
    MutexLock lock(mutex_);
    mine_[TextOf(request.token)] = ParseDecimal(ends).value_or(0);
    return Granted(1);
  }

  const milliseconds clock_error_;
  Mutex mutex_;
  std::map<std::string, int64_t> mine_ GUARDED_BY(mutex_);  // when they end
};

// The value is its owner and when it ends, which whoever looks judges by a clock of its own.
// Whoever finds it ended swaps what it saw, and nothing else; the owner alone frees and extends it.
class JudgedByReaders : public OneStep {
 public:
  JudgedByReaders(std::unique_ptr<RedisClient> client, milliseconds clock_error)
      : OneStep(std::move(client)), clock_error_(clock_error) {}
  Result<LockAnswer> Request(const AcquireRequest& request) override {
    const int64_t now = WallMs(clock_error_);
    const std::string mine = TextOf(request.token);
    const std::string value = mine + " " + std::to_string(now + request.lease.count());
    const auto set = Say({"SETNX", request.name, value});
    if (!set || set->integer == 1) {
      return set ? Granted(1) : set.error();
    }
    const auto seen = Say({"GET", request.name});
    if (!seen) {
      return seen.error();
    }
    const size_t space = seen->text.find(' ');
    if (space == std::string::npos) {
      return Granted(0);  // freed in between
    }
    if (seen->text.substr(0, space) == mine) {
      return Granted(ExtendOne({request.name, request.token, request.lease}));
    }
    const auto ends = ParseDecimal(seen->text.substr(space + 1));
    return ends && *ends < now ? Granted(Take(request.name, seen->text, value)) : Granted(0);
  }

 protected:
  // It had ended when it was seen.
  virtual Result<int64_t> Take(std::string_view name, std::string_view seen,
                               std::string_view value) {
    return Call(swap_, {name, seen, value});
  }
  Result<int64_t> ExtendOne(const LockClaim& claim) override {
    const int64_t ends = WallMs(clock_error_) + claim.lease.count();
    return Call(extend_, {claim.name, TextOf(claim.token), std::to_string(ends)});
  }
  Result<int64_t> FreeOne(const LockClaim& claim) override {
    return Call(free_, {claim.name, TextOf(claim.token)});
  }

 private:
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

}  // namespace

Result<std::shared_ptr<LockEngine>> OpenRedisExhibit(std::string_view name, std::string_view at,
                                                     milliseconds clock_error) {
  const auto endpoint = ParseRedisEndpoint(at);
  if (!endpoint) {
    return endpoint.error();
  }
  auto client = RedisClient::Open(*endpoint);
  if (!client) {
    return client.error();
  }
  std::shared_ptr<LockEngine> exhibit;
  if (name == "client-clocks") {
    exhibit = std::make_shared<AsWritten>(*std::move(client), clock_error);
  } else if (name == "swap-of-the-seen") {
    exhibit = std::make_shared<JudgedByReaders>(*std::move(client), clock_error);
  } else if (name == "readers-judge") {
    exhibit = std::make_shared<ReadersJudge>(*std::move(client));
  } else {
    exhibit = std::make_shared<OneStep>(*std::move(client));
  }
  return exhibit;
}

}  // namespace oncemq::testing
