// SPDX-License-Identifier: Apache-2.0
// A member over the window in PostgreSQL, at the level atomic, made to be killed:
// sql_member BROKERS GROUP TOPIC ADDRESS NUMBER
// Its handler appends a row to `effects` for each call, which nothing makes unique. SIGTERM: leaves
// in order, and ends with 0 when its verdict adds up.
#include <csignal>
#include <cstdlib>
#include <string>

#include "oncemq/dedup/postgres_window.h"
#include "oncemq/dedup/sql_effects.h"
#include "run_verdict.h"
#include "running_member.h"

namespace oncemq::testing {
namespace {

Outcome Append(const Message& message, Context& context, int64_t member) {
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

int Main(char** words) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  PostgresWindowOptions window_options;
  window_options.scope = words[2];
  window_options.level = Level::kAtomic;
  // The database may be down just now.
  auto window = OpenPostgresWindow(words[4], window_options);
  for (int tries = 0; !window && tries < 600; tries++) {
    SleepFor(milliseconds(100));
    window = OpenPostgresWindow(words[4], window_options);
  }
  if (!window) {
    return 3;
  }
  RuntimeOptions options = QuickOptions(words[1], words[2], words[3]);
  options.ids_partition_owned = false;
  options.workers = 4;
  const int64_t member = std::atoll(words[5]);
  RunningMember running(options, window->get(), [&](const Message& message, Context& context) {
    return Append(message, context, member);
  });
  int signal = 0;
  sigwait(&signals, &signal);
  return VerdictOf(running.Stop());
}

}  // namespace
}  // namespace oncemq::testing

int main(int argc, char** argv) {
  return argc == 6 ? oncemq::testing::Main(argv) : 2;
}
