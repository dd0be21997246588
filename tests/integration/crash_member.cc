// SPDX-License-Identifier: Apache-2.0
// A member as a process of its own, made to be killed:
// crash_member BROKERS GROUP TOPIC DIR NUMBER WINDOW (OpenTestWindow)
// Its window lives and dies with it, or lies on the disk below DIR: of a WINDOW that ends with
// "-apart" below a directory of its own, as on a host of its own; "opaque-redis": in the Redis at
// ONCEMQ_REDIS_URL, with ids that partitions own; "opaque-redis-crossing": there, with ids that
// cross; "opaque-postgres", "guarded-postgres": in the PostgreSQL at ONCEMQ_POSTGRES_URL. SIGUSR1:
// the next call of its handler hangs before its effect; SIGUSR2: after it. SIGTERM: leaves in
// order, and ends with 0 when its verdict adds up. ONCEMQ_HANGS_AT: the id whose call hangs before
// its effect.
// ONCEMQ_DIES_AT: the id whose call kills the process; refused messages are parked.
// ONCEMQ_RETRIES_AT: the id whose handler asks for another attempt each time. ONCEMQ_ATTEMPTS: so
// many that fail, then it is parked.
// ONCEMQ_SESSION_MS: its session, which is what its death costs the group (4,000).
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>

#include "guarded_target.h"
#include "ledger_rows.h"
#include "run_verdict.h"
#include "running_member.h"
#ifdef ONCEMQ_WITH_POSTGRES
#include "oncemq/dedup/postgres_window.h"
#endif
#ifdef ONCEMQ_WITH_REDIS
#include "oncemq/dedup/redis_window.h"
#endif

namespace oncemq::testing {
namespace {

enum class Hang { kNot, kBeforeTheEffect, kAfterTheEffect };

int64_t NumberOf(const char* name, int64_t otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr ? std::atoll(value) : otherwise;
}

std::unique_ptr<Window> OpenWindow(const std::string& kind, const std::filesystem::path& dir,
                                   [[maybe_unused]] const std::string& group) {
  [[maybe_unused]] constexpr WindowTimes kQuick{.lease = milliseconds(3'000),
                                                .max_lease = milliseconds(60'000),
                                                .handler_timeout = milliseconds(2'000)};
#ifdef ONCEMQ_WITH_REDIS
  if (kind.starts_with("opaque-redis")) {
    return *OpenRedisWindow(std::getenv("ONCEMQ_REDIS_URL"),
                            {.scope = group,
                             .level = Level::kOpaque,
                             .partition_owned = kind == "opaque-redis",
                             .times = kQuick});
  }
#endif
#ifdef ONCEMQ_WITH_POSTGRES
  if (kind == "opaque-postgres" || kind == "guarded-postgres") {
    const Level level = kind == "opaque-postgres" ? Level::kOpaque : Level::kGuarded;
    return *OpenPostgresWindow(std::getenv("ONCEMQ_POSTGRES_URL"),
                               {.scope = group, .level = level, .times = kQuick});
  }
#endif
  return OpenTestWindow(kind, dir);
}

class CrashMember {
 public:
  // `blind`: the target stores whatever comes, and nobody asks it (level opaque).
  CrashMember(const std::filesystem::path& dir, uint32_t number, bool blind)
      : number_(number),
        blind_(blind),
        hangs_at_(NumberOf("ONCEMQ_HANGS_AT", -1)),
        dies_at_(NumberOf("ONCEMQ_DIES_AT", -1)),
        retries_at_(NumberOf("ONCEMQ_RETRIES_AT", -1)),
        target_(dir / "target"),
        calls_(dir / "calls") {}

  Outcome Handle(const Message& message, Context& context) {
    CallRecord call{.member = number_,
                    .id = static_cast<uint32_t>(std::stoul(std::string(context.id()))),
                    .partition = message.partition(),
                    .offset = message.offset(),
                    .uncertain = context.uncertain() ? 1 : 0,
                    .attempt = context.attempt()};
    Write(CallRecord::kCalled, call);
    const Hang hang = call.id == hangs_at_ ? Hang::kBeforeTheEffect : hang_.exchange(Hang::kNot);
    if (hang == Hang::kBeforeTheEffect) {
      HangForEver(call);
    }
    if (call.id == dies_at_) {
      raise(SIGKILL);
    }
    if (call.id == retries_at_) {
      return Retry{.after = milliseconds(20)};
    }
    if (Effects* const effects = context.effects(); effects != nullptr) {
      if (!StoreLedgerRow(*effects, call.id, *message.key())) {
        return Retry{};
      }
    } else if (blind_) {
      target_.Append(call.id, number_);
    } else if (!target_.Store(call.id, number_)) {
      Write(CallRecord::kKnown, call);
    }
    if (hang == Hang::kAfterTheEffect) {
      HangForEver(call);
    }
    return Done{};
  }

  // Until SIGTERM.
  void Obey(const sigset_t& signals) {
    for (int signal = 0; signal != SIGTERM;) {
      sigwait(&signals, &signal);
      if (signal != SIGTERM) {
        hang_ = signal == SIGUSR1 ? Hang::kBeforeTheEffect : Hang::kAfterTheEffect;
      }
    }
  }

  int Judge(const RunReport& report) {
    CallRecord end{.member = number_,
                   .offset = report.caught_up,
                   .uncertain = static_cast<int32_t>(report.counts.uncertain)};
    Write(CallRecord::kEnded, end);
    return VerdictOf(report);
  }

 private:
  void Write(CallRecord::Kind kind, CallRecord& call) {
    call.kind = kind;
    calls_.Append(call);
  }
  [[noreturn]] void HangForEver(CallRecord& call) {
    Write(CallRecord::kHangs, call);
    for (;;) {
      pause();
    }
  }

  const uint32_t number_;
  const bool blind_;
  const int64_t hangs_at_;
  const int64_t dies_at_;
  const int64_t retries_at_;
  GuardedTarget target_;
  CallLog calls_;
  std::atomic<Hang> hang_{Hang::kNot};
};

int Main(char** words) {
  // Blocked in every thread that is made later; only Obey() takes them.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGUSR1, SIGUSR2}) {
    sigaddset(&signals, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const std::string kind = words[6];
  const bool apart = kind.ends_with("-apart");
  CrashMember crash(words[4], static_cast<uint32_t>(std::atoi(words[5])),
                    kind.starts_with("opaque"));
  const std::filesystem::path dir(words[4]);
  const auto window =
      OpenWindow(kind, apart ? dir / ("host-" + std::string(words[5])) : dir, words[2]);
  RuntimeOptions options = QuickOptions(words[1], words[2], words[3]);
  options.one_host = !apart;
  if (const int64_t attempts = NumberOf("ONCEMQ_ATTEMPTS", 0); attempts > 0) {
    options.policy.retry.attempts = static_cast<uint32_t>(attempts);
    options.policy.retry.at_end = AtEnd::kPark;
    options.policy.reject = RejectPolicy::kJournal;
    options.journal = dir / ("parked-" + std::string(words[5]));
  }
  if (NumberOf("ONCEMQ_DIES_AT", -1) >= 0) {
    options.policy.reject = RejectPolicy::kPark;
  }
  options.ids_partition_owned =
      window->capabilities().partition_owned || !window->capabilities().shared;
  options.renew_every = milliseconds(1'000);  // a third of the shortest lease
  options.core.session_timeout = milliseconds(NumberOf("ONCEMQ_SESSION_MS", 4'000));
  options.core.session_margin =
      std::min(options.core.session_margin, options.core.session_timeout / 4);
  RunningMember member(options, window.get(), [&](const Message& message, Context& context) {
    return crash.Handle(message, context);
  });
  crash.Obey(signals);
  return crash.Judge(member.Stop());
}

}  // namespace
}  // namespace oncemq::testing

int main(int argc, char** argv) {
  return argc == 7 ? oncemq::testing::Main(argv) : 2;
}
