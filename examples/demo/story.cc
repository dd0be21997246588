// SPDX-License-Identifier: Apache-2.0
#include "story.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "final_check.h"
#include "oncemq/base/clock.h"
#include "run_error.h"
#include "screen.h"
#include "theatre.h"
#include "timing.h"
#include "words.h"

namespace oncemq::demo {
namespace {

// Shares of the stream. It pauses while the groups change: the embedded broker refuses commits
// then, where a real one takes them, and what comes again for that reason alone would blur what
// the kill does. The kill comes in the middle of the stream, some time after kKill.
constexpr double kBefore = 0.1;
constexpr double kFirstWave = 0.3;
constexpr double kKill = 0.4;
constexpr double kKillAtLatest = 0.65;
constexpr double kSecondWave = 0.75;
constexpr double kWholeStream = 1.0;
// A report may be from the middle of a round: what several in a row say is so.
constexpr int kSteady = 2;

std::string Head(std::string_view step) {
  std::string head = " " + std::string(step);
  head.resize(std::max<size_t>(17, head.size() + 1), ' ');
  return head;
}

class Story {
 public:
  Story(Theatre& theatre, Screen& screen, const DemoOptions& options)
      : theatre_(theatre), screen_(screen), options_(options) {}

  void Opening() const;
  void SayLimits() const;
  Status Run();

 private:
  Status ConsumeAlone();
  Status ShareTheWork();
  Status KillBoth();
  Status KillInsideHandler(Side& side);
  Status TakeOver();
  Status StartAnew();
  Status Finish();

  // Joins a worker to each side and waits until each worker has its part.
  Status Join(const std::string& name, std::string_view step, milliseconds wait);
  // Each side gets its mark when it is so far.
  Status UntilShared(std::string_view step, milliseconds wait, const std::string& mark);
  Status UntilSettled(std::string_view step);
  std::string Progress(std::string_view step) const;
  std::string Countdown(std::string_view step, BootTime begin, milliseconds wait) const;

  Theatre& theatre_;
  Screen& screen_;
  const DemoOptions& options_;
};

// "A: 0, 1; B: 2, 3"
std::string Shares(const Side& side) {
  std::string all;
  for (const auto& worker : side.workers()) {
    if (!worker->running()) {
      continue;
    }
    all += (all.empty() ? "" : "; ") + worker->name() + ":";
    const char* separator = " ";
    for (const auto& [partition, at] : worker->report().active) {
      all += separator + std::to_string(partition);
      separator = ", ";
    }
  }
  return all;
}

void Story::Opening() const {
  const PaymentPlan& plan = theatre_.plan();
  int64_t bytes = 0;
  for (const uint32_t index : plan.sends) {
    bytes += VolumeOf(plan.payments[index]);
  }
  constexpr int64_t kMiB = 1 << 20;
  const int64_t tenths = bytes * 10 / kMiB;
  screen_.Line(Head("What is this?") +
               "Message queues deliver a message again when they are not sure. Here each message");
  screen_.Line(Head("") +
               "is a payment, so a second time is money lost. The same stream runs twice, side by");
  screen_.Line(Head("") +
               "side: with oncemq's window of ids, and without. Then the books are read.");
  screen_.Line(Head("Broker") + "embedded, " + theatre_.broker().address() + ", " +
               std::to_string(kPartitions) + " partitions");
  screen_.Line(Head("Volume") + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) +
               " of " + Grouped(kPartitions * EmbeddedBroker::kPartitionBytes / kMiB) +
               " MiB that it holds; it would drop the oldest silently, so the run fails before");
  screen_.Line(Head("With") + (options_.redis
                                   ? "window in Redis, level guarded: the ledger, in that Redis "
                                     "too, stores the id"
                                   : "window and ledger in RocksDB, level atomic: booking and id "
                                     "land in one write"));
  screen_.Line(Head("Without") + "each delivery is booked in a plain log, at least once");
  SayLimits();
  if (options_.keep) {
    screen_.Line(Head("Kept") + theatre_.dir().string());
  }
  screen_.Line("");
}

void Story::SayLimits() const {
  if (options_.redis) {
    screen_.Line(Head("Limits") +
                 "All workers are on this one host, and share nothing but the Redis. An effect");
    screen_.Line(Head("") + "that nobody can check is opaque instead: at least once, counted.");
    return;
  }
  screen_.Line(
      Head("Limits") +
      "All workers are on this one host and share a directory. Level atomic is for effects in");
  screen_.Line(Head("") +
               "the window's own store, as here, or in PostgreSQL with its window (scripts/demo");
  screen_.Line(Head("") +
               "ledger). Elsewhere: guarded where the target stores the id, else opaque: counted.");
}

Status Story::Run() {
  const auto payments = static_cast<int64_t>(theatre_.plan().payments.size());
  const auto sends = static_cast<int64_t>(theatre_.plan().sends.size());
  screen_.Line(Head("1/6 produce") + Grouped(payments) + " payments + " +
               Grouped(sends - payments) + " sent twice by the producer (same id), " +
               Grouped(kMessagesPerSecond) + " a second, seed " + std::to_string(options_.seed));
  for (const auto step : {&Story::ConsumeAlone, &Story::ShareTheWork, &Story::KillBoth,
                          &Story::TakeOver, &Story::StartAnew, &Story::Finish}) {
    const Status done = (this->*step)();
    if (!done) {
      screen_.Settle();
      return done;
    }
  }
  return {};
}

Status Story::ConsumeAlone() {
  constexpr std::string_view kStep = "2/6 consume";
  theatre_.stream().FlowTo(kBefore, BootNow());
  if (const Status joined = Join("A", kStep, kFirstWait); !joined) {
    return joined;
  }
  theatre_.stream().FlowTo(kFirstWave, BootNow());
  return UntilSettled(kStep);
}

Status Story::ShareTheWork() {
  constexpr std::string_view kStep = "    share";
  if (const Status joined = Join("B", kStep, kGroupWait); !joined) {
    return joined;
  }
  screen_.Line(Head(kStep) + "worker B joins, 2 of 4 partitions " +
               (options_.redis ? "" : "and their stores ") + "move (now " +
               Shares(theatre_.with()) + ")");
  theatre_.stream().FlowTo(kWholeStream, BootNow());
  return theatre_.Until([&] { return theatre_.stream().Past(kKill); },
                        [&] { return Progress(""); });
}

Status Story::KillBoth() {
  // One after the other, each while it has work that is done and not committed.
  for (Side* side : {&theatre_.without(), &theatre_.with()}) {
    theatre_.stream().FlowTo(kWholeStream, BootNow());
    if (const Status killed = KillInsideHandler(*side); !killed) {
      return killed;
    }
  }
  return {};
}

Status Story::KillInsideHandler(Side& side) {
  WorkerProcess& a = *side.workers().front();
  const auto live = [&] { return Progress(""); };
  const auto risky = [&] {
    const int64_t loose = NotCommitted(a);
    return (loose >= kAtRisk && loose < kNextCommitNear) || theatre_.stream().Past(kKillAtLatest);
  };
  if (Status waited = theatre_.Until(risky, live); !waited) {
    return waited;
  }
  a.RequestStandstill();
  const auto missed = [&] {  // on a machine that is very slow
    return theatre_.stream().Past(kWholeStream) && theatre_.stream().Quiet() &&
           NotCommitted(a) == 0;
  };
  // While a handler stands, the only worker thread finishes nothing. What is given to A meanwhile
  // was begun by nobody: it is in the sums as far as A has told, and missing in them nowhere.
  const auto stands = [&] { return !a.report().inside.empty() && a.steady() >= kSteady; };
  if (Status inside = theatre_.Until([&] { return stands() || missed(); }, live); !inside) {
    return inside;
  }
  if (!stands()) {
    return RunError(Code::kTimeout, "the stream was over before worker A stood still");
  }
  const pid_t pid = a.pid();
  a.Kill();
  if (Status dead = theatre_.Until([&] { return !a.running(); }, live); !dead) {
    return dead;
  }
  const DeliveryCounts& counts = a.report().counts;
  theatre_.MarkNow(side, {.text = "SIGKILL A", .kill = true});
  theatre_.BeginWaitNow(side,
                        "the partitions of A wait for the session of the killed worker, then for "
                        "the group");
  screen_.Line("     !! SIGKILL   worker A " +
               (side.window() ? "(process " + std::to_string(pid) + ")" : "without a window") +
               " inside its handler of " + a.report().inside + ", between booking and done:");
  screen_.Line(Head("") + "its last word: " + Grouped(NotCommitted(a) - counts.open) +
               " messages done and not committed, " + Grouped(counts.open) + " open");
  return {};
}

Status Story::TakeOver() {
  constexpr std::string_view kStep = "3/6 take over";
  theatre_.stream().Pause();
  if (const Status shared = UntilShared(kStep, kTakeOverWait, "B has taken over"); !shared) {
    return shared;
  }
  screen_.Line(Head(kStep) + "worker B has all 4 partitions, and " +
               (options_.redis ? "finds in Redis what A did" : "opens the stores that A left"));
  theatre_.stream().FlowTo(kSecondWave, BootNow());
  return UntilSettled("");
}

Status Story::StartAnew() {
  constexpr std::string_view kStep = "4/6 new process";
  if (const Status joined = Join("C", kStep, kGroupWait); !joined) {
    return joined;
  }
  screen_.Line(Head(kStep) + "worker C starts; what was done before it, it finds " +
               (options_.redis ? "in Redis" : "on disk") + " (now " + Shares(theatre_.with()) +
               ")");
  theatre_.stream().FlowTo(kWholeStream, BootNow());
  return UntilSettled("");
}

Status Story::Finish() {
  theatre_.with().RequestStopAll();
  theatre_.without().RequestStopAll();
  return theatre_.Until([&] { return !theatre_.with().AnyRuns() && !theatre_.without().AnyRuns(); },
                        [&] { return Head("") + "all workers drain and stop"; });
}

Status Story::Join(const std::string& name, std::string_view step, milliseconds wait) {
  for (Side* side : {&theatre_.with(), &theatre_.without()}) {
    const auto started = side->StartWorker(name);
    if (!started) {
      return started.error();
    }
    theatre_.BeginWaitNow(*side, "the group waits for its members");
  }
  return UntilShared(step, wait, name + (name == "A" ? " begins" : " joins"));
}

Status Story::UntilShared(std::string_view step, milliseconds wait, const std::string& mark) {
  const BootTime begin = BootNow();
  std::vector<const Side*> waiting = {&theatre_.with(), &theatre_.without()};
  const auto shared = [&] {
    std::erase_if(waiting, [&](const Side* side) {
      if (side->Shared()) {
        theatre_.EndWaitNow(*side);
        theatre_.MarkNow(*side, {.text = mark});
      }
      return side->Shared();
    });
    return waiting.empty();
  };
  return theatre_.Until(shared, [&] { return Countdown(step, begin, wait); });
}

Status Story::UntilSettled(std::string_view step) {
  const Status settled =
      theatre_.Until([&] { return theatre_.Settled(); }, [&] { return Progress(step); });
  if (settled) {
    screen_.Line(Progress(step));
  }
  return settled;
}

std::string Story::Progress(std::string_view step) const {
  const DeliveryCounts counts = theatre_.with().Counts();
  const int64_t lost = theatre_.with().OpenAtKill();
  const auto size = static_cast<int64_t>(theatre_.stream().size());
  const int64_t done = theatre_.with().Committed();
  return Head(step) + Bar(static_cast<double>(done) / static_cast<double>(size)) + "  " +
         Grouped(done) + " of " + Grouped(size) + " committed; " +
         Sum(Grouped(counts.deliveries) + " delivered")
             .Add(counts.applied, "applied", true)
             .Add(counts.suppressed, "suppressed", true)
             .Add(counts.parked, "parked")
             .Add(counts.rejected, "rejected")
             .Add(counts.handed_back, "handed back")
             .Add(counts.open - lost, "open", true)
             .Add(lost, "open at the kill")
             .text();
}

// Whole seconds, so that the line changes only when it says something new.
std::string Story::Countdown(std::string_view step, BootTime begin, milliseconds wait) const {
  using std::chrono::seconds;
  const auto all = std::chrono::ceil<seconds>(wait).count();
  const auto gone = std::chrono::floor<seconds>(BootNow() - begin).count();
  return Head(step) + Bar(static_cast<double>(gone) / static_cast<double>(all)) + "  " +
         std::to_string(gone) + " s of about " + std::to_string(all) +
         (wait == kTakeOverWait ? ": the group misses worker A, then waits for the others"
                                : ": the group waits for its members");
}

}  // namespace

int RunStory(const DemoOptions& options) {
  constexpr int kFailed = 4;
  constexpr int kBySignal = 128;
  constexpr int kUsage = 2;
  // At once, and not when all is over.
  if (!std::ofstream(options.report, std::ios::app)) {
    std::fprintf(stderr, "demo: cannot write %s\n", options.report.c_str());
    return kUsage;
  }
  Screen screen;
  const auto fail = [&](const Error& error) {
    screen.Line("verdict: FAILED (" + error.message + ")");
    return kFailed;
  };
  auto theatre = Theatre::Open(options, screen);
  if (!theatre) {
    return fail(theatre.error());
  }
  Story story(**theatre, screen, options);
  story.Opening();
  const Status run = story.Run();
  if ((*theatre)->ended_by() != 0) {
    screen.Line("demo: " + run.error().message);
    return kBySignal + (*theatre)->ended_by();
  }
  if (!run) {
    // The story can't go as told where somebody else stops its workers: that is the reason then.
    const std::string halts = (*theatre)->Halts(/*now=*/false);
    return fail({run.error().code, run.error().effect,
                 run.error().message + (halts.empty() ? "" : "; " + halts)});
  }
  const auto ok = CheckAll(**theatre, screen, options);
  return ok ? (*ok ? 0 : kFailed) : fail(ok.error());
}

}  // namespace oncemq::demo
