// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/redis_locks.h"

#include <algorithm>

#include "oncemq/base/store_login.h"
#include "oncemq/clients/redis_client.h"
#include "redis_forms.h"
#include "redis_scripts.h"
#include "redis_wakes.h"
#include "renewal_time.h"

namespace oncemq {
namespace {

using Replies = std::vector<RedisReply>;

class RedisLocks final : public LockEngine {
 public:
  RedisLocks(std::unique_ptr<RedisClient> client, const RedisLockOptions& options)
      : client_(std::move(client)),
        prefix_("oncemq:lock:" + std::to_string(options.space.size()) + ":" + options.space + ":"),
        seal_("oncemq:lock:seal:" + options.space),
        max_waiters_(std::to_string(options.max_waiters)),
        wakes_(client_->endpoint(), {options.connect, options.call}, options.space) {}

  const LockCapabilities& capabilities() const override { return can_; }

  Result<LockAnswer> Request(const AcquireRequest& request) override {
    const std::string token = RedisToken(request.token);
    const std::string lease = RedisMicros(request.lease);
    const std::string queue_lease = RedisMicros(request.queue_lease);
    const std::string kept = RedisKept(request.lease);
    if (request.queue) {
      wakes_.Expect(request.token);
    }
    const std::string key = prefix_ + std::string(request.name);
    const std::string epoch = std::to_string(request.epoch);
    const std::string limit = std::to_string(request.limit);
    const auto reply = One(scripts_.request, 2,
                           {key, seal_, token, RedisMode(request.mode), request.queue ? "1" : "0",
                            request.barge ? "1" : "0", lease, queue_lease, wakes_.channel(),
                            request.who, max_waiters_, kept, epoch, limit});
    if (!reply || reply->list.size() != 4 || reply->list[0].integer != kRedisQueued) {
      wakes_.Forget(request.token);  // whoever asks again expects anew
    }
    return reply ? AnswerOf(reply->list) : reply.error();
  }

  Status Await(const AcquireRequest& request, BootTime until,
               const std::stop_token& stop) override {
    return wakes_.Await(request.token, until, stop);
  }

  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    const auto replies = Each(scripts_.extend, claims, true, AnswerWithin(claims));
    if (!replies) {
      return replies.error();
    }
    for (size_t i = 0; i < claims.size(); i++) {
      const int64_t said = (*replies)[i].integer;
      answers[i] = said == 2 ? Extended::kRecalled : said == 1 ? Extended::kYes : Extended::kGone;
    }
    return {};
  }

  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override {
    for (const LockClaim& claim : claims) {
      wakes_.Forget(claim.token);
    }
    const auto replies = Each(scripts_.free, claims, false, milliseconds::max());
    if (!replies) {
      return replies.error();
    }
    for (size_t i = 0; i < claims.size(); i++) {
      answers[i] = (*replies)[i].integer == 1 ? Freed::kYes : Freed::kNotHeld;
    }
    return {};
  }

  Result<size_t> Recall(std::string_view name) override {
    const std::string key = prefix_ + std::string(name);
    const auto reply = One(scripts_.recall, 1, {key});
    return reply ? Result<size_t>(static_cast<size_t>(reply->integer)) : reply.error();
  }

  Result<Freed> Evict(std::string_view name, const Fence& fence) override {
    const std::string key = prefix_ + std::string(name);
    const std::string number = std::to_string(fence.token);
    const std::string epoch = std::to_string(fence.epoch);
    const auto reply = One(scripts_.evict, 1, {key, number, epoch});
    if (!reply) {
      return reply.error();
    }
    return reply->integer == 1 ? Freed::kYes : Freed::kNotHeld;
  }

  Result<LockView> Read(std::string_view name) override {
    const std::string key = prefix_ + std::string(name);
    const auto reply = One(scripts_.look, 1, {key});
    if (!reply) {
      return reply.error();
    }
    LockView view{std::string(name), {}};
    for (const RedisReply& party : reply->list) {
      if (party.list.size() != 6) {
        return RedisStrange();
      }
      view.parties.push_back({.holds = party.list[0].text == "h",
                              .mode = ModeOfRedis(party.list[1].text),
                              .fence = FenceOf(party.list[5], party.list[2]),
                              .left = RedisMillis(party.list[3].integer),
                              .who = party.list[4].text});
    }
    return view;
  }

  // Looks at every key of the server: for people, not for programs.
  Result<std::vector<std::string>> Names(std::string_view after, size_t limit) override {
    return RedisHeldNames(*client_, prefix_, after, limit);
  }

  Result<uint32_t> Seal(uint32_t epoch) override {
    const std::string number = std::to_string(epoch);
    const auto reply = One(scripts_.seal, 1, {seal_, number});
    return reply ? Result<uint32_t>(static_cast<uint32_t>(reply->integer)) : reply.error();
  }

 private:
  static Result<LockAnswer> AnswerOf(const Replies& said) {
    if (said.size() != 4) {
      return RedisStrange();
    }
    using Kind = LockAnswer::Kind;
    switch (said[0].integer) {
      case kRedisGranted:
        return LockAnswer{Kind::kGranted, FenceOf(said[3], said[1]), milliseconds(0)};
      case kRedisQueued:
        return LockAnswer{Kind::kQueued, {}, RedisMillis(said[2].integer)};
      case kRedisSealed:
        return LockAnswer{Kind::kSealed, FenceOf(said[3], said[1]), milliseconds(0)};
      case kRedisFull:
        return Error{Code::kFull, Effect::kNone, "more wait for this name than max_waiters allows"};
      default:
        return LockAnswer{};
    }
  }

  // Keys, then arguments.
  Result<RedisReply> One(const RedisScript& script, size_t keys, const RedisCommand& list) {
    auto replies = client_->Call(script, keys, {&list, 1});
    if (!replies) {
      return replies.error();
    }
    if (replies->front().kind == RedisReply::Kind::kError) {
      return RedisError(replies->front().text);
    }
    return std::move(replies->front());
  }

  // One call for each claim, in one round trip.
  Result<Replies> Each(const RedisScript& script, std::span<const LockClaim> claims,
                       bool with_lease, milliseconds within) {
    std::vector<std::string> texts;  // of each: key, token, lease, how long it is kept
    texts.reserve(claims.size() * 4);
    std::vector<RedisCommand> lists;
    for (const LockClaim& claim : claims) {
      texts.push_back(prefix_ + std::string(claim.name));
      texts.push_back(RedisToken(claim.token));
      RedisCommand& list = lists.emplace_back();
      list = {*(texts.end() - 2), *(texts.end() - 1)};
      if (with_lease) {
        texts.push_back(RedisMicros(claim.lease));
        list.push_back(texts.back());
        texts.push_back(RedisKept(claim.lease));
        list.push_back(texts.back());
      }
    }
    auto replies = client_->Call(script, 1, lists, within);
    if (!replies) {
      return replies;
    }
    const auto failed = [](const RedisReply& reply) {
      return reply.kind == RedisReply::Kind::kError;
    };
    const auto first = std::find_if(replies->begin(), replies->end(), failed);
    if (first == replies->end()) {
      return replies;
    }
    Error error = RedisError(first->text);
    if (!std::all_of(replies->begin(), replies->end(), failed)) {
      error.effect = Effect::kUnknown;  // some were done
    }
    return error;
  }

  const LockCapabilities can_ = RedisLockCapabilities();
  const std::unique_ptr<RedisClient> client_;
  const std::string prefix_;
  const std::string seal_;  // no name's key: those go on with a number
  const std::string max_waiters_;
  const RedisLockScripts scripts_;
  RedisWakes wakes_;
};

}  // namespace

Result<std::shared_ptr<LockEngine>> OpenRedisLocks(std::string_view address,
                                                   const RedisLockOptions& options) {
  const auto endpoint = ParseReadable(address, options.read_address, ParseRedisEndpoint);
  if (!endpoint) {
    return endpoint.error();
  }
  auto client =
      RedisClient::Open(*endpoint, {options.connect, options.call}, options.max_connections);
  if (!client) {
    return client.error();
  }
  const auto info = (*client)->Run(RedisCommand{"INFO"});
  if (!info) {
    return info.error();
  }
  if (const Status fit = CheckRedisKeeps(info->text, "locks"); !fit) {
    return fit.error();
  }
  return std::shared_ptr<LockEngine>(std::make_shared<RedisLocks>(*std::move(client), options));
}

}  // namespace oncemq
