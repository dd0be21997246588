// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "oncemq/base/connection_listener.h"
#include "oncemq/base/log.h"
#include "oncemq/base/store_login.h"
#include "oncemq/clients/redis_client.h"
#include "redis_connection.h"

namespace oncemq {
namespace {

// A network that is cut says nothing: after so long a silence the server is asked for a word.
constexpr milliseconds kSilence{2'000};

}  // namespace

struct RedisListener::Parts {
  const RedisEndpoint endpoint;
  const RedisTimes times;
  const std::string channel;
  const std::function<void(std::string_view)> heard;
  const std::function<void(bool)> connected;
  const std::shared_ptr<StoreLogin> login;
  std::optional<ConnectionListener<RedisConnection>> listener;

  bool Listen(RedisConnection& on);
};

RedisListener::RedisListener(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

std::unique_ptr<RedisListener> RedisListener::Start(const RedisEndpoint& endpoint,
                                                    const RedisTimes& times, std::string channel,
                                                    std::function<void(std::string_view)> heard,
                                                    std::function<void(bool)> connected) {
  std::unique_ptr<Parts> parts(new Parts{endpoint,
                                         times,
                                         std::move(channel),
                                         std::move(heard),
                                         std::move(connected),
                                         StoreLogin::Of(endpoint),
                                         {}});
  Parts* const raw = parts.get();
  parts->listener.emplace(ConnectionListener<RedisConnection>::Calls{
      .area = "redis",
      .open =
          [raw] {
            const BootTime until = BootNow() + raw->times.connect;
            return raw->login->Enter(raw->endpoint, until, [&](const RedisEndpoint& as) {
              return RedisConnection::Open(as, until);
            });
          },
      .listen = [raw](RedisConnection& on) { return raw->Listen(on); },
      .lost = [raw] { raw->connected(false); }});
  if (!parts->listener->Start("oncemq-redis")) {
    return nullptr;
  }
  return std::unique_ptr<RedisListener>(new RedisListener(std::move(parts)));
}

RedisListener::~RedisListener() = default;

// Until the connection is of no use. False: it never heard anything.
bool RedisListener::Parts::Listen(RedisConnection& on) {
  const Clock& clock = SystemClock::Instance();
  const RedisCommand subscribe{"SUBSCRIBE", channel};
  const RedisCommand ping{"PING"};
  if (!on.Send({&subscribe, 1}, clock.Boot() + times.call)) {
    return false;
  }
  bool hears = false;
  for (bool pinged = false;;) {
    const auto next = on.Next(clock.Boot() + (hears && !pinged ? kSilence : times.call));
    if (!next) {
      return hears;
    }
    if (!*next) {
      if (!hears || pinged || !on.Send({&ping, 1}, clock.Boot() + times.call)) {
        return hears;
      }
      pinged = true;
      continue;
    }
    pinged = false;
    const RedisReply& reply = **next;
    if (reply.list.size() == 3 && reply.list[0].text == "message") {
      heard(reply.list[2].text);
    } else if (reply.list.size() == 3 && reply.list[0].text == "subscribe") {
      hears = true;
      connected(true);
    } else if (reply.kind == RedisReply::Kind::kError) {
      Log(LogLevel::kWarn, "redis", "cannot listen", {{"error", reply.text}});
      return hears;
    }
  }
}

}  // namespace oncemq
