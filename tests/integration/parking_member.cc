// SPDX-License-Identifier: Apache-2.0
// A member of a park storm (park_storm.h), made to be killed:
// parking_member BROKERS GROUP TOPIC DIR NUMBER ADDRESS LEVEL
// Its window is in the PostgreSQL or Redis at ADDRESS. At the level atomic effects are rows of
// `effects` in the PostgreSQL, which nothing makes unique; at guarded they go to the target in DIR.
// SIGTERM: leaves in order, and ends with 0 when its verdict adds up. ONCEMQ_OWNED_IDS: partitions
// own their ids.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "guarded_target.h"
#include "oncemq/dedup/postgres_window.h"
#include "oncemq/dedup/redis_window.h"
#include "oncemq/dedup/sql_effects.h"
#include "park_storm_ids.h"
#include "run_verdict.h"
#include "running_member.h"

namespace oncemq::testing {
namespace {

bool OwnedIds() {
  return std::getenv("ONCEMQ_OWNED_IDS") != nullptr;
}

Result<std::unique_ptr<Window>> OpenWindow(const std::string& address, const std::string& group,
                                           Level level) {
  if (address.starts_with("redis:")) {
    RedisWindowOptions options;
    options.scope = group;
    options.level = level;
    options.partition_owned = OwnedIds();
    return OpenRedisWindow(address, options);
  }
  PostgresWindowOptions options;
  options.scope = group;
  options.level = level;
  options.partition_owned = OwnedIds();
  return OpenPostgresWindow(address, options);
}

class ParkingMember {
 public:
  ParkingMember(const std::filesystem::path& dir, uint32_t number, Level level)
      : fixed_(dir / kFixed), number_(number), level_(level), target_(dir / "target") {}

  Outcome Handle(const Message& message, Context& context) {
    const int64_t id = std::stoll(std::string(context.id()));
    if (IsPoison(id) && !std::filesystem::exists(fixed_)) {
      return FailsToTheEnd(id) ? Outcome(Retry{.why = "the ledger is closed"})
                               : Outcome(Reject{"not a payment"});
    }
    if (IsFlaky(id) && context.attempt() <= 2) {
      return Retry{.why = "the ledger is busy"};
    }
    if (level_ == Level::kGuarded) {
      target_.Store(static_cast<uint32_t>(id), number_);
      return Done{};
    }
    const SqlStatement append{"INSERT INTO effects (id, part) VALUES ($1, $2)",
                              {id, int64_t{message.partition()}}};
    return context.sql()->Add(append) ? Outcome(Done{}) : Outcome(Retry{});
  }

 private:
  const std::filesystem::path fixed_;
  const uint32_t number_;
  const Level level_;
  GuardedTarget target_;
};

int Main(char** words) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const Level level = std::string(words[7]) == "atomic" ? Level::kAtomic : Level::kGuarded;
  auto window = OpenWindow(words[6], words[2], level);
  for (int tries = 0; !window && tries < 60; tries++) {  // the machine may be busy
    SleepFor(milliseconds(500));
    window = OpenWindow(words[6], words[2], level);
  }
  if (!window) {
    std::fprintf(stderr, "%s\n", ToString(window.error()).c_str());
    return 3;
  }
  ParkingMember member(words[4], static_cast<uint32_t>(std::atoi(words[5])), level);
  RuntimeOptions options = ParkingOptions(words[1], words[2], words[3]);
  options.ids_partition_owned = OwnedIds();
  RunningMember running(options, window->get(), [&](const Message& message, Context& context) {
    return member.Handle(message, context);
  });
  int signal = 0;
  sigwait(&signals, &signal);
  return VerdictOf(running.Stop());
}

}  // namespace
}  // namespace oncemq::testing

int main(int argc, char** argv) {
  return argc == 8 ? oncemq::testing::Main(argv) : 2;
}
