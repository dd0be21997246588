// SPDX-License-Identifier: Apache-2.0
#include "redis_line.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "oncemq/base/bytes.h"
#include "oncemq/base/mutant.h"

namespace oncemq {
namespace {

constexpr int kDeepest = 8;  // lists in lists; ours have two

Error Unavailable(Effect effect, std::string why) {
  return {Code::kUnavailable, effect, std::move(why)};
}

BootTime Now() {
  return SystemClock::Instance().Boot();
}

// Waits until the descriptor is ready, or `until`. False: it isn't.
bool Ready(int fd, short events, BootTime until) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - Now()).count();
    pollfd waits{fd, events, 0};
    const int done = poll(&waits, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 1'000'000)));
    if (done > 0) {
      return true;
    }
    if (left <= 0 || (done < 0 && errno != EINTR)) {
      return false;
    }
  }
}

// At least a little: to connect() none at all means for ever.
timeval Left(BootTime until) {
  const auto left = std::max<int64_t>(1'000, (until - Now()).count());
  return {left / 1'000'000, left % 1'000'000};
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

Result<std::unique_ptr<RedisLine>> RedisLine::Connected(ContextPtr context,
                                                        const std::string& where) {
  if (context == nullptr) {
    return Unavailable(Effect::kNone, where + ": no memory for a connection");
  }
  if (context->err != 0) {
    return Unavailable(Effect::kNone, where + ": " + context->errstr);
  }
  return std::unique_ptr<RedisLine>(new RedisLine(std::move(context)));
}

Result<std::unique_ptr<RedisLine>> RedisLine::Connect(const RedisHost& host, BootTime until) {
  return Connected(ContextPtr(redisConnectWithTimeout(host.host.c_str(), host.port, Left(until))),
                   host.host + ":" + std::to_string(host.port));
}

Result<std::unique_ptr<RedisLine>> RedisLine::Open(const RedisPlace& place, BootTime until) {
  if (place.tls) {
    return Error{Code::kInvalid, Effect::kNone, "this build of oncemq has no TLS for Redis"};
  }
  Result<std::unique_ptr<RedisLine>> line = Error{};
  if (!place.socket.empty()) {
    line = Connected(ContextPtr(redisConnectUnixWithTimeout(place.socket.c_str(), Left(until))),
                     place.socket);
  } else if (place.master.empty()) {
    line = Connect(place.hosts.front(), until);
  } else {
    const auto master = AskSentinels(place, until);
    if (!master) {
      return master.error();
    }
    line = Connect(*master, until);
  }
  if (!line) {
    return line;
  }
  if (const Status done = (*line)->LogIn(place, until); !done) {
    return done.error();
  }
  return line;
}

// Each has its share of the time, so that one that hangs keeps nobody from asking the next.
Result<RedisHost> RedisLine::AskSentinels(const RedisPlace& place, BootTime until) {
  std::string why;
  size_t left = place.hosts.size();
  for (const RedisHost& sentinel : place.hosts) {
    const BootTime share = Now() + (until - Now()) / (left-- + 1);
    auto line = Connect(sentinel, share);
    if (!line) {
      why = line.error().message;
      continue;
    }
    const RedisCommand ask{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", place.master};
    const auto answers = (*line)->Run({&ask, 1}, share);
    if (!answers) {
      why = answers.error().message;
    } else if (const RedisReply& reply = answers->front(); reply.list.size() == 2) {
      const auto port = ParseDecimal(reply.list[1].text);
      if (port && *port > 0 && *port < 65536) {
        return RedisHost{reply.list[0].text, static_cast<uint16_t>(*port)};
      }
      why = "a sentinel gave no port";
    } else {
      why = reply.text.empty() ? "a sentinel knows no master " + place.master : reply.text;
    }
  }
  return Unavailable(Effect::kNone, "no sentinel says who is master: " + why);
}

Status RedisLine::LogIn(const RedisPlace& place, BootTime until) {
  std::vector<RedisCommand> commands;
  const std::string database = std::to_string(place.database);
  if (!place.user.empty()) {
    commands.push_back({"AUTH", place.user, place.password});
  } else if (!place.password.empty()) {
    commands.push_back({"AUTH", place.password});
  }
  if (place.database != 0) {
    commands.push_back({"SELECT", database});
  }
  commands.push_back({"ROLE"});
  const auto answers = Run(commands, until);
  if (!answers) {
    Error error = answers.error();
    error.effect = Effect::kNone;  // nothing of the caller's was sent
    return error;
  }
  const RedisReply& role = answers->back();
  for (const RedisReply& answer : *answers) {
    // Some servers tell nobody what they are.
    const bool may_not_ask =
        &answer == &role && place.master.empty() && !answer.text.starts_with("NOAUTH");
    if (answer.kind == RedisReply::Kind::kError && !may_not_ask) {
      Error error = RedisError(answer.text);
      error.effect = Effect::kNone;
      return error;
    }
  }
  if (role.kind == RedisReply::Kind::kList && !role.list.empty() &&
      role.list.front().text != "master" && !ONCEMQ_MUTANT("redis-replica-is-master")) {
    return Unavailable(Effect::kNone, "this Redis is no master, but a " + role.list.front().text);
  }
  return {};
}

bool RedisLine::Fresh() const {
  pollfd waits{context_->fd, POLLIN, 0};
  return poll(&waits, 1, 0) == 0;
}

Result<std::vector<RedisReply>> RedisLine::Run(std::span<const RedisCommand> commands,
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

Status RedisLine::Send(std::span<const RedisCommand> commands, BootTime until) {
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
  // Not hiredis' own: a connection that is gone would end the process by a signal.
  for (size_t sent = 0; sent < out.size();) {
    const ssize_t some =
        send(context_->fd, out.data() + sent, out.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (some >= 0) {
      sent += static_cast<size_t>(some);
    } else if (errno != EAGAIN && errno != EINTR) {
      return Unavailable(sent == 0 ? Effect::kNone : Effect::kUnknown,
                         std::string("Redis: ") + std::strerror(errno));
    } else if (!Ready(context_->fd, POLLOUT, until)) {
      return Error{Code::kTimeout, sent == 0 ? Effect::kNone : Effect::kUnknown,
                   "Redis takes nothing"};
    }
  }
  return {};
}

Result<std::optional<RedisReply>> RedisLine::Next(BootTime until) {
  for (;;) {
    void* raw = nullptr;
    if (redisGetReplyFromReader(context_.get(), &raw) != REDIS_OK) {
      return Unavailable(Effect::kUnknown, std::string("Redis: ") + context_->errstr);
    }
    if (raw != nullptr) {
      RedisReply reply = Convert(*static_cast<redisReply*>(raw));
      freeReplyObject(raw);
      return std::optional(std::move(reply));
    }
    if (!Ready(context_->fd, POLLIN, until)) {
      return std::optional<RedisReply>();
    }
    if (redisBufferRead(context_.get()) != REDIS_OK) {
      return Unavailable(Effect::kUnknown, std::string("Redis: ") + context_->errstr);
    }
  }
}

void RedisLine::Abandon() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(context_->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

void RedisLine::Hang() {
  shutdown(context_->fd, SHUT_RDWR);
}

}  // namespace oncemq
