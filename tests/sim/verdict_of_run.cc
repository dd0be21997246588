// SPDX-License-Identifier: Apache-2.0
#include "verdict_of_run.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

namespace oncemq::sim {
namespace {

constexpr int kMostShrinkingRuns = 300;
constexpr size_t kTraceTail = 120;

// Read by a signal handler: written before the run, never during it.
char running[16384];

extern "C" void SayWhatRan(int) {
  const std::string_view head = "\naborted in the simulated run: ";
  ssize_t written = write(STDERR_FILENO, head.data(), head.size());
  written += write(STDERR_FILENO, running, strnlen(running, sizeof running));
  written += write(STDERR_FILENO, "\n", 1);
  static_cast<void>(written);  // nobody to tell
  std::signal(SIGABRT, SIG_DFL);
  std::raise(SIGABRT);
}

std::vector<Violation> Judge(const Config& config, const RunResult& result, Sometimes& sometimes) {
  const Evidence evidence{config, result.log, result.history, sometimes, &result.stores};
  std::vector<Violation> violations = JudgeAll(evidence);
  for (const std::string& incident : result.incidents) {
    violations.push_back({"incident", incident, result.history.records().size()});
  }
  return violations;
}

bool Breaks(const Config& config, const std::string& invariant) {
  if (config.max_lease < config.lease || (IsAtomic(config) && !HasStores(config))) {
    return false;  // no window opens so
  }
  if (config.replay > 0 && OrderOf(config) != Order::kUnordered) {
    return false;  // rule 43 promises no order to a replay
  }
  NameRunAtAbort(config);
  Sometimes sometimes;
  const Judgement judgement = RunAndJudge(config, sometimes);
  return std::any_of(judgement.violations.begin(), judgement.violations.end(),
                     [&](const Violation& v) { return v.invariant == invariant; });
}

class Shrinker {
 public:
  Shrinker(const Config& config, std::string invariant)
      : best_(config), invariant_(std::move(invariant)) {}

  Config Run() {
    bool smaller = true;
    while (smaller && runs_ < kMostShrinkingRuns) {
      smaller = DropFaults();
      smaller |= CalmDown();
      smaller |= Halve();
    }
    return best_;
  }

 private:
  bool Try(const Config& candidate) {
    if (runs_++ >= kMostShrinkingRuns || !Breaks(candidate, invariant_)) {
      return false;
    }
    best_ = candidate;
    return true;
  }

  bool DropFaults() {
    bool any = false;
    for (size_t i = best_.faults.size(); i-- > 0;) {
      Config candidate = best_;
      candidate.faults.erase(candidate.faults.begin() + static_cast<std::ptrdiff_t>(i));
      any |= Try(candidate);
    }
    return any;
  }

  // Every number that differs from its default goes back to it, if the failure stays.
  bool CalmDown() {
    const Config plain;
    bool any = false;
    size_t index = 0;
    EachNumber(plain, [&](std::string_view name, int64_t value) {
      const size_t wanted = index++;
      if (name == "seed" || name == "messages" || name == "deaths") {  // killers never drain else
        return;
      }
      Config candidate = best_;
      bool differs = false;
      size_t at = 0;
      EachNumber(candidate, [&](std::string_view, int64_t& place) {
        if (at++ == wanted && place != value) {
          place = value;
          differs = true;
        }
      });
      any |= differs && Try(candidate);
    });
    return any;
  }

  bool Halve() {
    bool any = false;
    for (int64_t Config::*field : {&Config::messages, &Config::partitions, &Config::processes,
                                   &Config::workers, &Config::keys}) {
      Config candidate = best_;
      for (const int64_t value : {best_.*field / 2, best_.*field - 1}) {
        candidate.*field = value;
        if (value >= 1 && Try(candidate)) {
          any = true;
          break;
        }
      }
    }
    return any;
  }

  Config best_;
  const std::string invariant_;
  int runs_ = 0;
};

}  // namespace

void NameRunAtAbort(const Config& config) {
  const std::string text = ToString(config);
  const size_t size = std::min(text.size(), sizeof running - 1);
  std::copy_n(text.begin(), size, running);
  running[size] = '\0';
  std::signal(SIGABRT, SayWhatRan);
}

Judgement RunAndJudge(const Config& config, Sometimes& sometimes) {
  NameRunAtAbort(config);
  RunResult result = Simulate(config);
  sometimes.Add(result.sometimes);
  Judgement judgement;
  judgement.violations = Judge(config, result, sometimes);
  judgement.hash = result.history.hash();
  judgement.steps = result.steps;
  judgement.actor_events = std::move(result.actor_events);
  return judgement;
}

Config Shrink(const Config& config, const std::string& invariant) {
  return Shrinker(config, invariant).Run();
}

std::string Explain(const Config& config, const Violation& violation) {
  const Config small = Shrink(config, violation.invariant);
  const RunResult result = Simulate(small);
  Sometimes sometimes;
  std::string out = "broken: " + violation.invariant + "\n  " + violation.what +
                    "\nin: " + ToString(config) + "\nshrunk to: " + ToString(small) + "\n";
  const auto& records = result.history.records();
  size_t last = records.size();
  for (const Violation& found : Judge(small, result, sometimes)) {
    if (found.invariant != violation.invariant) {
      continue;
    }
    out += "  " + found.invariant + ": " + found.what + "\n";
    last = std::min(last, found.at + 1);
  }
  out += "trace up to there:\n";
  last = std::min(last, records.size());
  for (size_t i = last - std::min(last, kTraceTail); i < last; i++) {
    out += ToString(records[i], result.history) + "\n";
  }
  return out + "play it again: ONCEMQ_SIM_REPLAY='" + ToString(small) +
         "' test_sim --gtest_filter=Replay.*\n";
}

}  // namespace oncemq::sim
