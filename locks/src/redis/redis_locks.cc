// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/redis_locks.h"

#include <algorithm>
#include <optional>
#include <set>

#include "oncemq/base/bytes.h"
#include "oncemq/base/mutant.h"
#include "oncemq/clients/redis_client.h"
#include "redis_scripts.h"
#include "redis_wakes.h"

namespace oncemq {
namespace {

using Replies = std::vector<RedisReply>;

std::string BytesOf(const Token& token) {
  std::string bytes;
  for (const uint64_t half : {token.process, token.attempt}) {
    for (int shift = 56; shift >= 0; shift -= 8) {
      bytes.push_back(static_cast<char>(half >> shift));
    }
  }
  return bytes;
}

std::string Micros(milliseconds time) {
  return std::to_string(microseconds(time).count());
}

// A key outlives its hold by a minute.
std::string Kept(milliseconds lease) {
  return std::to_string((lease + milliseconds(60'000)).count());
}

milliseconds MillisOf(int64_t micros) {
  return std::chrono::ceil<milliseconds>(microseconds(std::max<int64_t>(0, micros)));
}

// For MATCH: what has a meaning there is to stand for itself.
std::string Plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("*?[]^\\").find(c) != std::string_view::npos) {
      out.push_back('\\');
    }
    out.push_back(c);
  }
  return out;
}

constexpr LockCapabilities kCan{.engine = "redis",
                                .processes = true,
                                .fair = true,
                                .unfair = true,
                                .shared = true,
                                .wakes = true,
                                .fence = true,
                                .long_holds = true};

class RedisLocks final : public LockEngine {
 public:
  RedisLocks(std::unique_ptr<RedisClient> client, const RedisLockOptions& options)
      : client_(std::move(client)),
        prefix_("oncemq:lock:" + std::to_string(options.space.size()) + ":" + options.space + ":"),
        max_waiters_(std::to_string(options.max_waiters)),
        wakes_(client_->place(), {options.connect, options.call}) {}

  const LockCapabilities& capabilities() const override { return kCan; }

  Result<LockAnswer> Ask(const LockAsk& ask) override {
    const std::string token = BytesOf(ask.token);
    const std::string lease = Micros(ask.lease);
    const std::string place = Micros(ask.place);
    const std::string kept = Kept(ask.lease);
    if (ask.queue) {
      wakes_.Expect(token);
    }
    const auto reply =
        One(scripts_.ask, ask.name,
            {token, ask.mode == LockMode::kExclusive ? "x" : "s", ask.queue ? "1" : "0",
             ask.barge ? "1" : "0", lease, place, wakes_.channel(), ask.who, max_waiters_, kept});
    if (!reply) {
      wakes_.Forget(token);  // whoever asks again expects anew
      return reply.error();
    }
    if (reply->list.size() != 3) {
      return Strange();
    }
    const int64_t kind = reply->list[0].integer;
    if (kind == kRedisQueued) {
      return LockAnswer{LockAnswer::Kind::kQueued, {}, MillisOf(reply->list[2].integer)};
    }
    wakes_.Forget(token);
    if (kind == kRedisFull) {
      return Error{Code::kFull, Effect::kNone, "more wait for this name than max_waiters allows"};
    }
    if (kind == kRedisGranted) {
      return LockAnswer{LockAnswer::Kind::kGranted,
                        {0, static_cast<uint64_t>(reply->list[1].integer)},
                        milliseconds(0)};
    }
    return LockAnswer{};
  }

  Status Await(const LockAsk& ask, BootTime until, const std::stop_token& stop) override {
    return wakes_.Await(BytesOf(ask.token), until, stop);
  }

  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    const auto replies = Each(scripts_.extend, claims, true);
    if (!replies) {
      return replies.error();
    }
    for (size_t i = 0; i < claims.size(); i++) {
      const int64_t said = (*replies)[i].integer;
      answers[i] = said == 2 ? Extended::kAskedBack : said == 1 ? Extended::kYes : Extended::kGone;
    }
    return {};
  }

  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override {
    for (const LockClaim& claim : claims) {
      wakes_.Forget(BytesOf(claim.token));
    }
    const auto replies = Each(scripts_.free, claims, false);
    if (!replies) {
      return replies.error();
    }
    for (size_t i = 0; i < claims.size(); i++) {
      answers[i] = (*replies)[i].integer == 1 ? Freed::kYes : Freed::kNotHeld;
    }
    return {};
  }

  Result<size_t> AskBack(std::string_view name) override {
    const auto reply = One(scripts_.ask_back, name, {});
    return reply ? Result<size_t>(static_cast<size_t>(reply->integer)) : reply.error();
  }

  Result<Freed> Evict(std::string_view name, const Fence& fence) override {
    const std::string number = std::to_string(fence.token);
    const auto reply = One(scripts_.evict, name, {number});
    if (!reply) {
      return reply.error();
    }
    return reply->integer == 1 ? Freed::kYes : Freed::kNotHeld;
  }

  Result<LockView> Look(std::string_view name) override {
    const auto reply = One(scripts_.look, name, {});
    if (!reply) {
      return reply.error();
    }
    LockView view{std::string(name), {}};
    for (const RedisReply& party : reply->list) {
      if (party.list.size() != 5) {
        return Strange();
      }
      view.parties.push_back(
          {.holds = party.list[0].text == "h",
           .mode = party.list[1].text == "x" ? LockMode::kExclusive : LockMode::kShared,
           .fence = {0, static_cast<uint64_t>(party.list[2].integer)},
           .left = MillisOf(party.list[3].integer),
           .who = party.list[4].text});
    }
    return view;
  }

  // Looks at every key of the server: for people, not for programs.
  Result<std::vector<std::string>> Names(std::string_view after, size_t limit) override {
    const std::string match = Plain(prefix_) + "*";
    std::set<std::string> names;
    std::string cursor = "0";
    do {
      const auto page = client_->Run(RedisCommand{"SCAN", cursor, "MATCH", match, "COUNT", "1000"});
      if (!page) {
        return page.error();
      }
      if (page->list.size() != 2) {
        return Strange();
      }
      cursor = page->list[0].text;
      if (const Status done = AddHeld(page->list[1].list, after, limit, names); !done) {
        return done.error();
      }
    } while (cursor != "0");
    return std::vector<std::string>(names.begin(), names.end());
  }

 private:
  static Error Strange() {
    return {Code::kCorrupt, Effect::kUnknown, "Redis answered something that is not ours"};
  }

  // Leaves out the names that only remember their fence.
  Status AddHeld(const Replies& keys, std::string_view after, size_t limit,
                 std::set<std::string>& names) {
    if (keys.empty()) {
      return {};
    }
    RedisCommand values{"MGET"};
    for (const RedisReply& key : keys) {
      values.push_back(key.text);
    }
    const auto held = client_->Run(values);
    if (!held) {
      return held.error();
    }
    for (size_t i = 0; i < keys.size() && i < held->list.size(); i++) {
      const std::string& state = held->list[i].text;
      const std::string name = keys[i].text.substr(prefix_.size());
      if (!state.empty() && state[0] != '-' && name > after) {
        names.insert(name);
      }
      if (names.size() > limit) {
        names.erase(std::prev(names.end()));
      }
    }
    return {};
  }

  Result<RedisReply> One(const RedisScript& script, std::string_view name,
                         std::initializer_list<std::string_view> arguments) {
    const std::string key = prefix_ + std::string(name);
    RedisCommand list{key};
    list.insert(list.end(), arguments.begin(), arguments.end());
    auto replies = client_->Call(script, 1, {&list, 1});
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
                       bool with_lease) {
    std::vector<std::string> texts;  // of each: key, token, lease, how long it is kept
    texts.reserve(claims.size() * 4);
    std::vector<RedisCommand> lists;
    for (const LockClaim& claim : claims) {
      texts.push_back(prefix_ + std::string(claim.name));
      texts.push_back(BytesOf(claim.token));
      RedisCommand& list = lists.emplace_back();
      list = {*(texts.end() - 2), *(texts.end() - 1)};
      if (with_lease) {
        texts.push_back(Micros(claim.lease));
        list.push_back(texts.back());
        texts.push_back(Kept(claim.lease));
        list.push_back(texts.back());
      }
    }
    auto replies = client_->Call(script, 1, lists);
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

  const std::unique_ptr<RedisClient> client_;
  const std::string prefix_;
  const std::string max_waiters_;
  const RedisLockScripts scripts_;
  RedisWakes wakes_;
};

// The value of a line "name:value" of INFO.
std::string_view InfoOf(std::string_view info, std::string_view name) {
  const std::string wanted = "\n" + std::string(name) + ":";
  const size_t at = info.find(wanted);
  if (at == std::string_view::npos) {
    return "";
  }
  info.remove_prefix(at + wanted.size());
  return info.substr(0, info.find_first_of("\r\n"));
}

Status CheckServer(std::string_view info) {
  const auto refuse = [](std::string why) {
    return Error{Code::kInvalid, Effect::kNone, "locks in this Redis: " + std::move(why)};
  };
  const std::string_view version = InfoOf(info, "redis_version");
  const auto major = ParseDecimal(version.substr(0, version.find('.')));
  if (!major || *major < 5) {
    return refuse("version 5.0 or newer is needed, this is " + std::string(version));
  }
  if (InfoOf(info, "redis_mode") == "cluster") {
    return refuse("a cluster cannot be used");
  }
  const std::string_view policy = InfoOf(info, "maxmemory_policy");
  if (InfoOf(info, "maxmemory") != "0" && policy != "noeviction") {
    return refuse("it may evict keys that are held (maxmemory-policy " + std::string(policy) +
                  "); noeviction is needed");
  }
  return {};
}

}  // namespace

LockCapabilities RedisLockCapabilities() {
  return kCan;
}

Result<std::shared_ptr<LockEngine>> OpenRedisLocks(std::string_view address,
                                                   const RedisLockOptions& options) {
  const auto place = ParseRedisPlace(address);
  if (!place) {
    return place.error();
  }
  auto client = RedisClient::Open(*place, {options.connect, options.call}, options.max_connections);
  if (!client) {
    return client.error();
  }
  const auto info = (*client)->Run(RedisCommand{"INFO"});
  if (!info) {
    return info.error();
  }
  if (const Status fit = CheckServer(info->text); !fit && !ONCEMQ_MUTANT("redis-any-server")) {
    return fit.error();
  }
  return std::shared_ptr<LockEngine>(std::make_shared<RedisLocks>(*std::move(client), options));
}

}  // namespace oncemq
