// SPDX-License-Identifier: Apache-2.0
// A member over a window that its group shares, made to be killed:
// shared_member BROKERS GROUP TOPIC ADDRESS NUMBER [TARGET [opaque]]
// Window and effects are in the PostgreSQL at ADDRESS, at the level atomic: its handler appends a
// row to `effects` for each call, which nothing makes unique. Or the window is in the Redis at
// ADDRESS, and the effects in another one at TARGET, at the level guarded or opaque. SIGTERM:
// leaves in order, and ends with 0 when its verdict adds up. ONCEMQ_OWNED_IDS: partitions own
// their ids.
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "run_verdict.h"
#include "running_member.h"
#ifdef ONCEMQ_WITH_POSTGRES
#include "oncemq/dedup/postgres_window.h"
#include "oncemq/dedup/sql_effects.h"
#endif
#ifdef ONCEMQ_WITH_REDIS
#include "oncemq/dedup/redis_window.h"
#include "redis_target.h"
#endif

namespace oncemq::testing {
namespace {

using WindowResult = Result<std::unique_ptr<Window>>;

bool OwnedIds() {
  return std::getenv("ONCEMQ_OWNED_IDS") != nullptr;
}

#ifdef ONCEMQ_WITH_POSTGRES
Outcome AppendRow(const Message& message, Context& context, int64_t member) {
  const int64_t id = std::stoll(std::string(context.id()));
  const SqlStatement append{
      "INSERT INTO effects (id, key, part, off, member) VALUES ($1, $2, $3, $4, $5)",
      {id, *message.key(), int64_t{message.partition()}, message.offset(), member}};
  // Most are sent with the COMMIT; some open the transaction before it.
  if (id % 10 != 0) {
    return context.sql()->Add(append) ? Outcome(Done{}) : Outcome(Retry{});
  }
  const auto done = context.sql()->Run(append);
  return done ? Outcome(Done{}) : Outcome(Retry{.why = done.error().message});
}

WindowResult OpenInPostgres(const std::string& address, const std::string& group) {
  PostgresWindowOptions options;
  options.scope = group;
  options.level = Level::kAtomic;
  options.partition_owned = OwnedIds();
  return OpenPostgresWindow(address, options);
}
#endif

#ifdef ONCEMQ_WITH_REDIS
Outcome StoreOnce(RedisTarget& target, const Context& context) {
  const auto stored = target.Store(context.id());
  return stored ? Outcome(Done{}) : Outcome(Retry{.why = stored.error().message});
}

Outcome AppendEffect(RedisEffects& target, const Context& context) {
  const Status appended = target.Append(context);
  return appended ? Outcome(Done{}) : Outcome(Retry{.why = appended.error().message});
}

WindowResult OpenInRedis(const std::string& address, const std::string& group, Level level) {
  RedisWindowOptions options;
  options.scope = group;
  options.level = level;
  if (level == Level::kOpaque) {
    options.times = kOpaqueTimes;
  }
  options.partition_owned = OwnedIds();
  return OpenRedisWindow(address, options);
}
#endif

// The server may be down just now.
std::unique_ptr<Window> Opened(const std::function<WindowResult()>& open) {
  for (int tries = 0; tries < 600; tries++) {
    if (auto window = open(); window) {
      return *std::move(window);
    }
    SleepFor(milliseconds(100));
  }
  return nullptr;
}

int Serve(char** words, Window& window, Handler handler) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  RuntimeOptions options = QuickOptions(words[1], words[2], words[3]);
  options.ids_partition_owned = OwnedIds();
  options.workers = 4;
  if (window.capabilities().level == Level::kOpaque) {
    options.renew_every = milliseconds(1'000);  // its leases are short
  }
  RunningMember running(options, &window, std::move(handler));
  int signal = 0;
  sigwait(&signals, &signal);
  return VerdictOf(running.Stop());
}

#ifdef ONCEMQ_WITH_REDIS
int MainInRedis(char** words, Level level) {
  const auto window = Opened([&] { return OpenInRedis(words[4], words[2], level); });
  if (window == nullptr) {
    return 3;
  }
  if (level == Level::kOpaque) {
    RedisEffects effects(words[6]);
    return Serve(words, *window,
                 [&](const Message&, Context& context) { return AppendEffect(effects, context); });
  }
  RedisTarget effects(words[6]);
  return Serve(words, *window,
               [&](const Message&, Context& context) { return StoreOnce(effects, context); });
}
#endif

int Main(char** words, bool target, [[maybe_unused]] Level level) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
#ifdef ONCEMQ_WITH_POSTGRES
  if (!target) {
    const std::string address = words[4];
    const auto window = Opened([&] { return OpenInPostgres(address, words[2]); });
    const int64_t member = std::atoll(words[5]);
    return window == nullptr ? 3
                             : Serve(words, *window, [&](const Message& message, Context& context) {
                                 return AppendRow(message, context, member);
                               });
  }
#endif
#ifdef ONCEMQ_WITH_REDIS
  if (target) {
    return MainInRedis(words, level);
  }
#endif
  return 2;
}

}  // namespace
}  // namespace oncemq::testing

int main(int argc, char** argv) {
  const auto level = argc == 8 ? oncemq::Level::kOpaque : oncemq::Level::kGuarded;
  return argc >= 6 && argc <= 8 ? oncemq::testing::Main(argv, argc > 6, level) : 2;
}
