// SPDX-License-Identifier: Apache-2.0
#include "redis_connection.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>

#include "oncemq/base/bytes.h"
#include "oncemq/base/outage.h"
#include "oncemq/base/wait_ready.h"
#include "oncemq/clients/redis_client.h"

namespace oncemq {
namespace {

constexpr int kDeepest = 8;              // lists in lists; ours have two
constexpr size_t kMostBytes = 32 << 20;  // of an answer
constexpr size_t kLongestList = 1'000'000;

Error Unavailable(Effect effect, std::string why) {
  return {Code::kUnavailable, effect, std::move(why)};
}

// At least a little: to connect() none at all means for ever.
timeval Left(BootTime until) {
  const auto left = std::max<int64_t>(1'000, (until - BootNow()).count());
  return {left / 1'000'000, left % 1'000'000};
}

// Before anything is sent: how TLS is to be says nobody who does not want it.
Status CheckTls(const RedisEndpoint& endpoint) {
  const bool said = !endpoint.ca_file.empty() || !endpoint.certificate_file.empty() ||
                    !endpoint.key_file.empty() || !endpoint.server_name.empty();
  const char* wrong = nullptr;
  if (!endpoint.tls) {
    wrong = said ? "what is said of TLS needs an address that wants it" : nullptr;
  } else if (!endpoint.socket.empty()) {
    wrong = "there is no TLS through a socket of the file system";
  } else if (endpoint.certificate_file.empty() != endpoint.key_file.empty()) {
    wrong = "a certificate of ours and its key go together";
  }
  if (wrong != nullptr) {
    return Error{Code::kInvalid, Effect::kNone, std::string("the address of a Redis: ") + wrong};
  }
  return endpoint.tls ? RedisTlsIsBuilt() : Status();
}

// hiredis takes as much memory as the head of a list names. The count is an int before 1.0.
template <class Count>
struct Lists {
  static inline void* (*create)(const redisReadTask*, Count) = nullptr;
  static void* Create(const redisReadTask* task, Count count) {
    return static_cast<size_t>(count) > kLongestList ? nullptr : create(task, count);
  }
  static redisReplyObjectFunctions Bounded(redisReplyObjectFunctions all) {
    create = all.createArray;
    all.createArray = &Create;
    return all;
  }
};
template <class Count>
Lists<Count> ListsOf(void* (*)(const redisReadTask*, Count));

void BoundLists(redisContext& connection) {
  using Ours = decltype(ListsOf(redisReplyObjectFunctions{}.createArray));
  static redisReplyObjectFunctions bounded = Ours::Bounded(*connection.reader->fn);
  connection.reader->fn = &bounded;
}

RedisReply Convert(const redisReply& from, int depth = 0) {
  RedisReply reply;
  switch (from.type) {
    case REDIS_REPLY_INTEGER:
      reply.kind = RedisReply::Kind::kInteger;
      reply.integer = from.integer;
      return reply;
    case REDIS_REPLY_STRING:
      reply.kind = RedisReply::Kind::kText;
      break;
    case REDIS_REPLY_STATUS:
      reply.kind = RedisReply::Kind::kStatus;
      break;
    case REDIS_REPLY_ERROR:
      reply.kind = RedisReply::Kind::kError;
      break;
    case REDIS_REPLY_ARRAY:
      reply.kind = RedisReply::Kind::kList;
      for (size_t i = 0; i < from.elements && depth < kDeepest; i++) {
        reply.list.push_back(Convert(*from.element[i], depth + 1));
      }
      return reply;
    default:
      return reply;
  }
  reply.text.assign(from.str, static_cast<size_t>(from.len));
  return reply;
}

}  // namespace

Result<std::unique_ptr<RedisConnection>> RedisConnection::Connected(ContextPtr context,
                                                                    const RedisEndpoint& endpoint,
                                                                    const RedisHost& host,
                                                                    BootTime until) {
  const std::string where = endpoint.socket.empty()
                                ? host.host + ":" + std::to_string(host.port) + ": "
                                : endpoint.socket + ": ";
  if (context == nullptr) {
    return Unavailable(Effect::kNone, where + "no memory for a connection");
  }
  if (context->err != 0) {
    return Unavailable(Effect::kNone, where + context->errstr);
  }
  BoundLists(*context);
  if (!endpoint.tls) {
    auto plain = PlainRedisWire(*context);
    return std::unique_ptr<RedisConnection>(
        new RedisConnection(std::move(context), std::move(plain)));
  }
  auto wire = TlsRedisWire(*context, endpoint, host.host, until);
  if (!wire) {
    return Error{wire.error().code, Effect::kNone, where + wire.error().message};
  }
  return std::unique_ptr<RedisConnection>(
      new RedisConnection(std::move(context), *std::move(wire)));
}

Result<std::unique_ptr<RedisConnection>> RedisConnection::Connect(const RedisEndpoint& endpoint,
                                                                  const RedisHost& host,
                                                                  BootTime until) {
  return Connected(ContextPtr(redisConnectWithTimeout(host.host.c_str(), host.port, Left(until))),
                   endpoint, host, until);
}

Result<std::unique_ptr<RedisConnection>> RedisConnection::Open(const RedisEndpoint& endpoint,
                                                               BootTime until,
                                                               const RedisJudge& judge) {
  if (const Status sound = CheckTls(endpoint); !sound) {
    return sound.error();
  }
  Result<std::unique_ptr<RedisConnection>> opened = Error{};
  if (!endpoint.socket.empty()) {
    opened =
        Connected(ContextPtr(redisConnectUnixWithTimeout(endpoint.socket.c_str(), Left(until))),
                  endpoint, {}, until);
  } else if (endpoint.master.empty()) {
    opened = Connect(endpoint, endpoint.hosts.front(), until);
  } else {
    const auto master = QuerySentinels(endpoint, until);
    if (!master) {
      return master.error();
    }
    opened = Connect(endpoint, *master, until);
  }
  if (!opened) {
    return opened;
  }
  if (const Status done = (*opened)->LogIn(endpoint, until, judge); !done) {
    return done.error();
  }
  return opened;
}

// Each has its share of the time, so that one that hangs keeps nobody from asking the next.
Result<RedisHost> RedisConnection::QuerySentinels(const RedisEndpoint& endpoint, BootTime until) {
  std::string why;
  size_t left = endpoint.hosts.size();
  for (const RedisHost& sentinel : endpoint.hosts) {
    const BootTime share = BootNow() + (until - BootNow()) / (left-- + 1);
    auto opened = Connect(endpoint, sentinel, share);
    if (!opened) {
      why = opened.error().message;
      continue;
    }
    const RedisCommand request{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", endpoint.master};
    const auto answers = (*opened)->Run({&request, 1}, share);
    if (!answers) {
      why = answers.error().message;
    } else if (const RedisReply& reply = answers->front(); reply.list.size() == 2) {
      const auto port = ParseDecimal(reply.list[1].text);
      if (port && *port > 0 && *port < 65536) {
        return RedisHost{reply.list[0].text, static_cast<uint16_t>(*port)};
      }
      why = "a sentinel gave no port";
    } else {
      why = reply.text.empty() ? "a sentinel knows no master " + endpoint.master : reply.text;
    }
  }
  return Unavailable(Effect::kNone, "no sentinel says who is master: " + why);
}

Status RedisConnection::LogIn(const RedisEndpoint& endpoint, BootTime until,
                              const RedisJudge& judge) {
  std::vector<RedisCommand> commands;
  const std::string database = std::to_string(endpoint.database);
  if (!endpoint.user.empty()) {
    commands.push_back({"AUTH", endpoint.user, endpoint.password});
  } else if (!endpoint.password.empty()) {
    commands.push_back({"AUTH", endpoint.password});
  }
  if (endpoint.database != 0) {
    commands.push_back({"SELECT", database});
  }
  const size_t role_index = commands.size();
  commands.push_back({"ROLE"});
  if (judge) {
    commands.push_back({"INFO"});
  }
  const auto answers = Run(commands, until);
  if (!answers) {
    Error error = answers.error();
    error.effect = Effect::kNone;  // nothing of the caller's was sent
    return error;
  }
  const RedisReply& role = (*answers)[role_index];
  for (const RedisReply& answer : *answers) {
    if (answer.kind != RedisReply::Kind::kError) {
      continue;
    }
    Error error = RedisError(answer.text);
    error.effect = Effect::kNone;
    if (&answer != &role && error.code == Code::kInternal) {
      const bool of_login = commands.front().front() == "AUTH" && &answer == &answers->front();
      error.code = of_login ? Code::kRefused : Code::kInvalid;  // no such database
    }
    // Some servers tell nobody what they are.
    const bool may_not_query = &answer == &role && endpoint.master.empty() && !IsOutage(error);
    if (!may_not_query) {
      return error;
    }
  }
  if (role.kind == RedisReply::Kind::kList && !role.list.empty() &&
      role.list.front().text != "master") {
    return Unavailable(Effect::kNone, "this Redis is no master, but a " + role.list.front().text);
  }
  return judge ? judge(answers->back().text) : Status();
}

bool RedisConnection::Fresh() {
  return wire_->Fresh();
}

Result<std::vector<RedisReply>> RedisConnection::Run(std::span<const RedisCommand> commands,
                                                     BootTime until) {
  if (const Status sent = Send(commands, until); !sent) {
    return sent.error();
  }
  std::vector<RedisReply> replies;
  while (replies.size() < commands.size()) {
    auto next = Next(until);
    if (!next) {
      return next.error();
    }
    if (!*next) {
      return Error{Code::kTimeout, Effect::kUnknown, "Redis did not answer in time"};
    }
    replies.push_back(std::move(**next));
  }
  return replies;
}

Status RedisConnection::Send(std::span<const RedisCommand> commands, BootTime until) {
  std::string out;
  for (const RedisCommand& command : commands) {
    std::vector<const char*> arguments;
    std::vector<size_t> lengths;
    for (const std::string_view argument : command) {
      arguments.push_back(argument.data());
      lengths.push_back(argument.size());
    }
    char* formatted = nullptr;
    const auto length = redisFormatCommandArgv(&formatted, static_cast<int>(command.size()),
                                               arguments.data(), lengths.data());
    if (length < 0) {
      return Unavailable(Effect::kNone, "no memory for a command");
    }
    out.append(formatted, static_cast<size_t>(length));
    redisFreeCommand(formatted);
  }
  for (size_t sent = 0; sent < out.size();) {
    const auto some = wire_->Send(std::string_view(out).substr(sent));
    if (!some) {
      return Unavailable(sent == 0 ? Effect::kNone : Effect::kUnknown,
                         "Redis: " + some.error().message);
    }
    sent += some->bytes;
    if (some->wait != 0 && !WaitReady(context_->fd, some->wait, until)) {
      return Error{Code::kTimeout, sent == 0 ? Effect::kNone : Effect::kUnknown,
                   "Redis takes nothing"};
    }
  }
  return {};
}

Result<std::optional<RedisReply>> RedisConnection::Next(BootTime until) {
  size_t bytes = 0;
  for (;;) {
    if (bytes > kMostBytes) {
      return Error{Code::kCorrupt, Effect::kUnknown, "Redis answered more than 32 MB"};
    }
    void* raw = nullptr;
    if (redisGetReplyFromReader(context_.get(), &raw) != REDIS_OK) {
      return Unavailable(Effect::kUnknown, std::string("Redis: ") + context_->errstr);
    }
    if (raw != nullptr) {
      RedisReply reply = Convert(*static_cast<redisReply*>(raw));
      freeReplyObject(raw);
      return std::optional(std::move(reply));
    }
    const bool there = wire_->Pending() || WaitReady(context_->fd, POLLIN, until);
    if (!there || (bytes > 0 && SystemClock::Instance().Boot() >= until)) {
      return std::optional<RedisReply>();
    }
    const size_t before = context_->reader->len;
    if (const Status read = wire_->Read(); !read) {
      return Unavailable(Effect::kUnknown, "Redis: " + read.error().message);
    }
    bytes += context_->reader->len - before;
  }
}

void RedisConnection::Abandon() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(context_->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

void RedisConnection::Hang() {
  shutdown(context_->fd, SHUT_RDWR);
}

}  // namespace oncemq
