// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/redis_client.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <utility>

#include "oncemq/base/check.h"
#include "oncemq/base/connection_pool.h"
#include "oncemq/base/store_login.h"
#include "redis_connection.h"

namespace oncemq {
namespace {

std::string Sha1(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  const int done =
      EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha1(), nullptr);
  ONCEMQ_CHECK(done == 1, "SHA-1, as the name of a script, is there");
  std::string hex;
  for (unsigned int i = 0; i < length; i++) {
    hex.push_back("0123456789abcdef"[digest[i] >> 4]);
    hex.push_back("0123456789abcdef"[digest[i] & 15]);
  }
  return hex;
}

// Up to version 6 an error within a script comes as "ERR Error running script (...): -READONLY
// ...".
std::string_view ErrorOf(std::string_view text) {
  constexpr std::string_view kWithin = ": -";
  const size_t at =
      text.starts_with("ERR Error running script") ? text.rfind(kWithin) : std::string_view::npos;
  return at == std::string_view::npos ? text : text.substr(at + kWithin.size());
}

// What a server says that is no master now, or not yet, or has no room for this connection.
bool SaysLater(std::string_view whole) {
  const std::string_view text = ErrorOf(whole);
  return text.starts_with("READONLY") || text.starts_with("LOADING") ||
         text.starts_with("MASTERDOWN") || text.starts_with("UNBLOCKED") ||
         text.starts_with("ERR max number of clients");
}

}  // namespace

bool RedisLacksScript(const RedisReply& reply) {
  return reply.kind == RedisReply::Kind::kError && reply.text.starts_with("NOSCRIPT");
}

Error RedisError(std::string_view text) {
  Error error{Code::kInternal, Effect::kUnknown, "Redis: " + std::string(text)};
  const std::string_view told = ErrorOf(text);
  const std::string_view word = told.substr(0, told.find(' '));
  if (SaysLater(text) || word == "BUSY" || word == "TRYAGAIN" || word == "CLUSTERDOWN" ||
      word == "MISCONF" || word == "NOREPLICAS") {
    error.code = Code::kUnavailable;
    error.effect = Effect::kNone;
  } else if (word == "NOAUTH" || word == "WRONGPASS" || text.starts_with("ERR invalid password")) {
    error.code = Code::kRefused;
    error.effect = Effect::kNone;
  } else if (word == "NOPERM") {
    error.code = Code::kInvalid;
    error.effect = Effect::kNone;
  } else if (word == "ONCEMQ") {  // of our scripts, before they wrote anything
    error.code = Code::kCorrupt;
    error.effect = Effect::kNone;
  } else if (word == "OOM") {
    error.code = Code::kFull;
    error.effect = Effect::kNone;
  }
  return error;
}

RedisScript::RedisScript(std::string_view source) : source_(source), sha1_(Sha1(source)) {}

RedisScript::~RedisScript() = default;

struct RedisClient::Parts {
  const RedisEndpoint endpoint;
  const RedisTimes times;
  const RedisJudge judge;
  ConnectionPool<RedisConnection> pool;
  const std::shared_ptr<StoreLogin> login;

  Result<std::unique_ptr<RedisConnection>> Borrow(BootTime until) {
    return pool.Borrow(
        until, [](RedisConnection& connection) { return connection.Fresh(); },
        [&] {
          const BootTime connect_until = std::min<BootTime>(until, BootNow() + times.connect);
          return login->Enter(endpoint, connect_until, [&](const RedisEndpoint& as) {
            return RedisConnection::Open(as, connect_until, judge);
          });
        });
  }
};

RedisClient::RedisClient(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

RedisClient::~RedisClient() = default;

Result<std::unique_ptr<RedisClient>> RedisClient::Open(const RedisEndpoint& endpoint,
                                                       const RedisTimes& times,
                                                       size_t max_connections, RedisJudge judge) {
  if (endpoint.hosts.empty() && endpoint.socket.empty()) {
    return Error{Code::kInvalid, Effect::kNone, "the address of a Redis is missing"};
  }
  std::unique_ptr<Parts> parts(new Parts{endpoint, times, std::move(judge),
                                         ConnectionPool<RedisConnection>(max_connections),
                                         StoreLogin::Of(endpoint)});
  auto first = parts->Borrow(SystemClock::Instance().Boot() + times.call);
  if (!first) {
    return first.error();
  }
  parts->pool.GiveBack(*std::move(first));
  return std::unique_ptr<RedisClient>(new RedisClient(std::move(parts)));
}

Result<std::vector<RedisReply>> RedisClient::Run(std::span<const RedisCommand> commands,
                                                 milliseconds within) {
  const BootTime until = SystemClock::Instance().Boot() + std::min(within, parts_->times.call);
  auto connection = parts_->Borrow(until);
  if (!connection) {
    return connection.error();
  }
  if (SystemClock::Instance().Boot() >= until) {
    parts_->pool.GiveBack(*std::move(connection));
    return Error{Code::kTimeout, Effect::kNone, "connecting to Redis took all the time"};
  }
  auto replies = (*connection)->Run(commands, until);
  const bool good =
      replies && std::none_of(replies->begin(), replies->end(), [](const RedisReply& reply) {
        return reply.kind == RedisReply::Kind::kError && SaysLater(reply.text);
      });
  if (good) {
    parts_->pool.GiveBack(*std::move(connection));
  } else {
    (*connection)->Abandon();
    parts_->pool.Dropped();
  }
  return replies;
}

Result<RedisReply> RedisClient::Run(const RedisCommand& command) {
  auto replies = Run(std::span(&command, 1));
  if (!replies) {
    return replies.error();
  }
  if (replies->front().kind == RedisReply::Kind::kError) {
    return RedisError(replies->front().text);
  }
  return std::move(replies->front());
}

Result<std::vector<RedisReply>> RedisClient::Call(const RedisScript& script, size_t keys,
                                                  std::span<const RedisCommand> argument_lists,
                                                  milliseconds within) {
  const std::string count = std::to_string(keys);
  std::vector<RedisCommand> commands;
  for (const RedisCommand& arguments : argument_lists) {
    RedisCommand& command = commands.emplace_back();
    command.reserve(arguments.size() + 3);
    command = {"EVALSHA", script.sha1(), count};
    command.insert(command.end(), arguments.begin(), arguments.end());
  }
  auto replies = Run(commands, within);
  if (!replies || std::none_of(replies->begin(), replies->end(), RedisLacksScript)) {
    return replies;
  }
  // A server that was started again has forgotten its scripts. Calls that found it stay.
  std::vector<size_t> which;
  std::vector<RedisCommand> whole;
  for (size_t i = 0; i < commands.size(); i++) {
    if (RedisLacksScript((*replies)[i])) {
      which.push_back(i);
      whole.push_back(std::move(commands[i]));
      whole.back()[0] = "EVAL";
      whole.back()[1] = script.source();
    }
  }
  auto again = Run(whole, within);
  if (!again) {
    Error error = again.error();
    if (whole.size() < commands.size()) {
      error.effect = Effect::kUnknown;  // the others were done
    }
    return error;
  }
  for (size_t i = 0; i < which.size(); i++) {
    (*replies)[which[i]] = std::move((*again)[i]);
  }
  return replies;
}

const RedisEndpoint& RedisClient::endpoint() const {
  return parts_->endpoint;
}

}  // namespace oncemq
