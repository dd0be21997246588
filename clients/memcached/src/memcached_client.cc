// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/memcached_client.h"

#include <algorithm>
#include <functional>

#include "memcached_connection.h"
#include "memcached_words.h"
#include "oncemq/base/connection_pool.h"
#include "oncemq/base/mutex.h"

namespace oncemq {

struct MemcachedClient::Parts {
  const MemcachedEndpoint endpoint;
  const MemcachedTimes times;
  ConnectionPool<MemcachedConnection> pool;
  Mutex mutex;
  uint64_t last_number GUARDED_BY(mutex) = 0;

  Result<std::unique_ptr<MemcachedConnection>> Borrow(BootTime until) {
    return pool.Borrow(
        until, [](const MemcachedConnection& connection) { return connection.Fresh(); },
        [&] {
          return MemcachedConnection::Open(
              endpoint, std::min<BootTime>(until, SystemClock::Instance().Boot() + times.connect));
        });
  }
  // So many numbers, from the answer on.
  uint64_t Numbers(size_t count) {
    MutexLock lock(mutex);
    last_number = (last_number + count) % 1'000'000'000;
    return last_number;
  }

  // One question and its answer, which `read` takes off the connection.
  Status Talk(const std::string& question, milliseconds within,
              const std::function<Status(MemcachedConnection&, BootTime)>& read) {
    const BootTime until = SystemClock::Instance().Boot() + std::min(within, times.call);
    auto connection = Borrow(until);
    if (!connection) {
      return connection.error();
    }
    Status done = (*connection)->Send(question, until);
    if (done) {
      done = read(**connection, until);
    }
    if (done) {
      pool.GiveBack(*std::move(connection));
    } else {
      (*connection)->Abandon();
      pool.Dropped();
    }
    return done;
  }
};

MemcachedClient::MemcachedClient(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

MemcachedClient::~MemcachedClient() = default;

Result<std::unique_ptr<MemcachedClient>> MemcachedClient::Open(const MemcachedEndpoint& endpoint,
                                                               const MemcachedTimes& times,
                                                               size_t max_connections) {
  if (endpoint.host.empty()) {
    return Error{Code::kInvalid, Effect::kNone, "the address of a memcached is missing"};
  }
  std::unique_ptr<Parts> parts(
      new Parts{endpoint, times, ConnectionPool<MemcachedConnection>(max_connections), {}, {}});
  auto first = parts->Borrow(SystemClock::Instance().Boot() + times.call);
  if (!first) {
    return first.error();
  }
  parts->pool.GiveBack(*std::move(first));
  return std::unique_ptr<MemcachedClient>(new MemcachedClient(std::move(parts)));
}

Result<std::vector<MemcachedReply>> MemcachedClient::Run(std::span<const MemcachedCommand> commands,
                                                         milliseconds within) {
  const uint64_t first = parts_->Numbers(commands.size());
  std::string question;
  for (size_t i = 0; i < commands.size(); i++) {
    AppendCommand(question, commands[i], first + i);
  }
  std::vector<MemcachedReply> replies;
  const auto read = [&](MemcachedConnection& connection, BootTime until) -> Status {
    for (size_t i = 0; i < commands.size(); i++) {
      const auto text = connection.Line(until);
      if (!text) {
        return text.error();
      }
      auto head = ParseHead(*text, commands[i].kind, first + i);
      if (!head) {
        // The others may have been done.
        if (std::any_of(commands.begin(), commands.end(), [&](const MemcachedCommand& other) {
              return &other != &commands[i] && other.kind != MemcachedCommand::Kind::kGet;
            })) {
          head.error().effect = Effect::kUnknown;
        }
        return head.error();
      }
      if (head->block) {
        auto block = connection.Block(*head->block, until);
        if (!block) {
          return block.error();
        }
        head->reply.value = *std::move(block);
      }
      replies.push_back(std::move(head->reply));
    }
    return {};
  };
  if (const Status done = parts_->Talk(question, within, read); !done) {
    return done.error();
  }
  return replies;
}

Result<MemcachedReply> MemcachedClient::Run(const MemcachedCommand& command) {
  auto replies = Run(std::span(&command, 1));
  if (!replies) {
    return replies.error();
  }
  return std::move(replies->front());
}

Result<std::string> MemcachedClient::Version() {
  std::string version;
  const Status done = parts_->Talk(
      "version\r\n", parts_->times.call,
      [&](MemcachedConnection& connection, BootTime until) -> Status {
        const auto text = connection.Line(until);
        if (!text) {
          return text.error();
        }
        constexpr std::string_view kVersion = "VERSION ";
        if (!text->starts_with(kVersion)) {
          return Error{Code::kCorrupt, Effect::kNone, "this is no memcached, or it wants a login"};
        }
        version = text->substr(kVersion.size());
        return {};
      });
  if (!done) {
    return done.error();
  }
  return version;
}

Result<std::map<std::string, std::string>> MemcachedClient::Settings() {
  std::map<std::string, std::string> settings;
  const Status done = parts_->Talk(
      "stats settings\r\n", parts_->times.call,
      [&](MemcachedConnection& connection, BootTime until) -> Status {
        for (;;) {
          const auto text = connection.Line(until);
          if (!text) {
            return text.error();
          }
          if (*text == "END") {
            return {};
          }
          const size_t behind_name = text->find(' ', 5);
          if (!text->starts_with("STAT ") || behind_name == std::string::npos) {
            return Error{Code::kCorrupt, Effect::kNone, "memcached does not tell its settings"};
          }
          settings[text->substr(5, behind_name - 5)] = text->substr(behind_name + 1);
        }
      });
  if (!done) {
    return done.error();
  }
  return settings;
}

}  // namespace oncemq
