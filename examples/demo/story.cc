// SPDX-License-Identifier: Apache-2.0
#include "story.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "final_check.h"
#include "oncemq/base/clock.h"
#include "screen.h"
#include "theatre.h"
#include "timing.h"
#include "words.h"

namespace oncemq::demo {
namespace {

// Shares of the stream. Members join while it pauses: the embedded broker refuses commits while
// they do, where a real one takes them, and what is finished but not committed would be posted by
// the next owner again. A leaves in the middle of it.
constexpr double kBefore = 0.1;
constexpr double kFirstWave = 0.3;
constexpr double kLeave = 0.45;
constexpr double kSecondWave = 0.7;
constexpr double kThirdWave = 1.0;

BootTime Now() {
  return SystemClock::Instance().Boot();
}

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
  Status Run();

 private:
  Status ConsumeAlone();
  Status TakeOver();
  Status Restart();
  Status ComeBack();
  Status Finish();

  // Joins a worker and waits until each has its part.
  Result<WorkerProcess*> Join(const std::string& name, std::string_view step, milliseconds wait);
  Status UntilSettled(std::string_view step);
  std::string Progress(std::string_view step) const;
  std::string Countdown(std::string_view step, BootTime begin, milliseconds wait) const;
  static bool Owns(const WorkerProcess& worker, int partitions) {
    return static_cast<int>(worker.report().active.size()) == partitions;
  }

  Theatre& theatre_;
  Screen& screen_;
  const DemoOptions& options_;
  WorkerProcess* a_ = nullptr;
  WorkerProcess* b_ = nullptr;
};

std::string Share(const WorkerProcess& worker) {
  std::string list;
  for (const auto& [partition, committed] : worker.report().active) {
    list += (list.empty() ? "" : ", ") + std::to_string(partition);
  }
  return list;
}

void Story::Opening() const {
  int64_t bytes = 0;
  for (const uint32_t index : theatre_.plan().sends) {
    bytes += VolumeOf(theatre_.plan().payments[index]);
  }
  constexpr int64_t kMiB = 1 << 20;
  const int64_t tenths = bytes * 10 / kMiB;
  screen_.Line(Head("Broker") + "embedded, " + theatre_.broker().address() + ", " +
               std::to_string(kPartitions) + " partitions");
  screen_.Line(Head("Volume") + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) +
               " of " + Grouped(kPartitions * EmbeddedBroker::kPartitionBytes / kMiB) +
               " MiB that it holds; it would drop the oldest silently, so the run fails before");
  if (options_.window) {
    screen_.Line(Head("Guarantee") + "window in memory, level guarded: each payment once, " +
                 (options_.catch_up ? "also when partitions move"
                                    : "but a copy that comes after a move is new"));
    screen_.Line(Head("Not held") +
                 "after a crash, work since the last commit runs again: then the target must know");
    screen_.Line(Head("") +
                 "the id. The log of effects here is blind on purpose, so that a double is seen.");
  } else {
    screen_.Line(Head("Guarantee") + "none: no window, each delivery is posted, at least once");
  }
  if (options_.keep) {
    screen_.Line(Head("Kept") + theatre_.dir().string());
  }
  screen_.Line("");
}

Status Story::Run() {
  const size_t copies = theatre_.plan().sends.size() - theatre_.plan().payments.size();
  screen_.Line(Head("1/4 produce") +
               Grouped(static_cast<int64_t>(theatre_.plan().payments.size())) + " payments + " +
               Grouped(static_cast<int64_t>(copies)) + " re-sends by the producer (same id), " +
               Grouped(kMessagesPerSecond) + " a second, seed " + std::to_string(options_.seed));
  for (const auto step : {&Story::ConsumeAlone, &Story::TakeOver, &Story::Restart, &Story::ComeBack,
                          &Story::Finish}) {
    const Status done = (this->*step)();
    if (!done) {
      screen_.Settle();
      return done;
    }
  }
  return {};
}

Status Story::ConsumeAlone() {
  constexpr std::string_view kStep = "2/4 consume";
  theatre_.stream().FlowTo(kBefore, Now());
  auto joined = Join("A", kStep, kFirstWait);
  if (!joined) {
    return joined.error();
  }
  a_ = *joined;
  theatre_.stream().FlowTo(kFirstWave, Now());
  return UntilSettled(kStep);
}

Status Story::TakeOver() {
  constexpr std::string_view kStep = "3/4 take over";
  auto joined = Join("B", kStep, kGroupWait);
  if (!joined) {
    return joined.error();
  }
  b_ = *joined;
  screen_.Line(Head(kStep) + "worker B joins, 2 of 4 partitions move (now A: " + Share(*a_) +
               "; B: " + Share(*b_) + ")");
  theatre_.stream().FlowTo(kSecondWave, Now());
  return theatre_.Until([&] { return theatre_.stream().Past(kLeave); },
                        [&] { return Progress(""); });
}

Status Story::Restart() {
  constexpr std::string_view kStep = "    restart";
  a_->AskToStop();
  const Status stopped =
      theatre_.Until([&] { return !a_->running(); }, [&] { return Progress(""); });
  if (!stopped) {
    return stopped;
  }
  screen_.Line(Head(kStep) +
               "worker A ends what it runs, commits, and stops in the middle of the " +
               "stream: " + Grouped(a_->report().counts.open) + " left open, " +
               Grouped(a_->report().counts.handed_back) + " handed back");
  const BootTime begin = Now();
  const Status taken = theatre_.Until([&] { return Owns(*b_, kPartitions); },
                                      [&] { return Countdown(kStep, begin, kGroupWait); });
  if (!taken) {
    return taken;
  }
  screen_.Line(Head("") + "worker B takes over its partitions");
  return UntilSettled("");
}

Status Story::ComeBack() {
  constexpr std::string_view kStep = "    come back";
  auto joined = Join("A2", kStep, kGroupWait);
  if (!joined) {
    return joined.error();
  }
  screen_.Line(Head(kStep) + "worker A comes back as a new process, knowing nothing (now A2: " +
               Share(**joined) + "; B: " + Share(*b_) + ")");
  theatre_.stream().FlowTo(kThirdWave, Now());
  return UntilSettled("");
}

Status Story::Finish() {
  for (const auto& worker : theatre_.workers()) {
    worker->AskToStop();
  }
  return theatre_.Until(
      [&] {
        return std::none_of(theatre_.workers().begin(), theatre_.workers().end(),
                            [](const auto& worker) { return worker->running(); });
      },
      [&] { return Head("") + "all workers drain and stop"; });
}

Result<WorkerProcess*> Story::Join(const std::string& name, std::string_view step,
                                   milliseconds wait) {
  auto started = theatre_.StartWorker(name);
  if (!started) {
    return started.error();
  }
  const auto running = std::count_if(theatre_.workers().begin(), theatre_.workers().end(),
                                     [](const auto& worker) { return worker->running(); });
  const BootTime begin = Now();
  const auto shared = [&] {
    return std::all_of(
        theatre_.workers().begin(), theatre_.workers().end(), [&](const auto& worker) {
          return !worker->running() || Owns(*worker, kPartitions / static_cast<int>(running));
        });
  };
  const Status joined = theatre_.Until(shared, [&] { return Countdown(step, begin, wait); });
  if (!joined) {
    return joined.error();
  }
  return *started;
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
  const DeliveryCounts counts = theatre_.Counts();
  const auto size = static_cast<int64_t>(theatre_.stream().size());
  const int64_t done = theatre_.Committed();
  return Head(step) + Bar(static_cast<double>(done) / static_cast<double>(size)) + "  " +
         Grouped(done) + " of " + Grouped(size) + " committed; " +
         Sum(Grouped(counts.deliveries) + " delivered")
             .Add(counts.applied, "applied", true)
             .Add(counts.suppressed, "suppressed", options_.window)
             .Add(counts.parked, "parked")
             .Add(counts.rejected, "rejected")
             .Add(counts.handed_back, "handed back")
             .Add(counts.open, "open", true)
             .text();
}

std::string Story::Countdown(std::string_view step, BootTime begin, milliseconds wait) const {
  const auto left = std::chrono::ceil<std::chrono::seconds>(wait - (Now() - begin)).count();
  return Head(step) + "the group waits " +
         (left > 0 ? std::to_string(left) + " s for its members" : std::string("a moment longer")) +
         "; " + Grouped(static_cast<int64_t>(theatre_.stream().sent())) + " sent, " +
         Grouped(theatre_.Committed()) + " committed";
}

}  // namespace

int TellStory(const DemoOptions& options) {
  constexpr int kFailed = 4;
  constexpr int kBySignal = 128;
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
  const Status told = story.Run();
  if ((*theatre)->ended_by() != 0) {
    screen.Line("demo: " + told.error().message);
    return kBySignal + (*theatre)->ended_by();
  }
  if (!told) {
    return fail(told.error());
  }
  const auto ok = CheckAll(**theatre, screen, options);
  return ok ? (*ok ? 0 : kFailed) : fail(ok.error());
}

}  // namespace oncemq::demo
