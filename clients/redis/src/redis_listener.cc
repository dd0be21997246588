// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <thread>

#include "oncemq/base/log.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/start_thread.h"
#include "oncemq/clients/redis_client.h"
#include "redis_line.h"

namespace oncemq {
namespace {

constexpr milliseconds kShortestPause{20};
constexpr milliseconds kLongestPause{1'000};
// A network that is cut says nothing: after so long a silence the server is asked for a word.
constexpr milliseconds kSilence{2'000};

}  // namespace

struct RedisListener::Parts {
  const RedisPlace place;
  const RedisTimes times;
  const std::string channel;
  const std::function<void(std::string_view)> heard;
  const std::function<void(bool)> connected;
  Mutex mutex;
  ConditionVariable ends;
  bool ending GUARDED_BY(mutex) = false;
  RedisLine* line GUARDED_BY(mutex) = nullptr;
  std::optional<std::thread> thread;

  void Run();
  bool Listen(RedisLine& on);
  bool Use(RedisLine* now) {
    MutexLock lock(mutex);
    line = now;
    return !ending;
  }
};

RedisListener::RedisListener(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

std::unique_ptr<RedisListener> RedisListener::Start(const RedisPlace& place,
                                                    const RedisTimes& times, std::string channel,
                                                    std::function<void(std::string_view)> heard,
                                                    std::function<void(bool)> connected) {
  std::unique_ptr<Parts> parts(new Parts{place,
                                         times,
                                         std::move(channel),
                                         std::move(heard),
                                         std::move(connected),
                                         {},
                                         {},
                                         false,
                                         nullptr,
                                         {}});
  parts->thread = StartThread("oncemq-redis", [raw = parts.get()] { raw->Run(); });
  if (!parts->thread) {
    return nullptr;
  }
  return std::unique_ptr<RedisListener>(new RedisListener(std::move(parts)));
}

RedisListener::~RedisListener() {
  {
    MutexLock lock(parts_->mutex);
    parts_->ending = true;
    if (parts_->line != nullptr) {
      parts_->line->Hang();
    }
    parts_->ends.notify_all();
  }
  parts_->thread->join();
}

void RedisListener::Parts::Run() {
  for (milliseconds pause = kShortestPause;;) {
    auto opened = RedisLine::Open(place, SystemClock::Instance().Boot() + times.connect);
    if (!opened) {
      Log(LogLevel::kDebug, "redis", "cannot listen", {{"error", ToString(opened.error())}});
    } else if (Use(opened->get())) {
      pause = Listen(**opened) ? kShortestPause : pause;
      connected(false);
    }
    Use(nullptr);
    MutexLock lock(mutex);
    if (!ending) {
      ends.wait_for(mutex, pause);
    }
    if (ending) {
      return;
    }
    pause = std::min(pause * 2, kLongestPause);
  }
}

// Until the line is of no use. False: it never heard anything.
bool RedisListener::Parts::Listen(RedisLine& on) {
  const Clock& clock = SystemClock::Instance();
  const RedisCommand subscribe{"SUBSCRIBE", channel};
  const RedisCommand ping{"PING"};
  if (!on.Send({&subscribe, 1}, clock.Boot() + times.call)) {
    return false;
  }
  bool hears = false;
  for (bool asked = false;;) {
    const auto next = on.Next(clock.Boot() + (hears && !asked ? kSilence : times.call));
    if (!next) {
      return hears;
    }
    if (!*next) {
      if (!hears || asked || !on.Send({&ping, 1}, clock.Boot() + times.call)) {
        return hears;
      }
      asked = true;
      continue;
    }
    asked = false;
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
