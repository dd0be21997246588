// SPDX-License-Identifier: Apache-2.0
// What a lock costs in a store, beside the raw calls that the simplest lock there cannot do
// without.
//
//   pair            acquire and release, nobody else wants it: median and 99th percentile
//   hand-off        from the call of release to the return of the waiter's acquire, two processes
//   contenders      locks per second with 1, 8 and 64 threads for one name, and their fairness;
//                   beside it, how many raw pairs one connection makes
//   held            the hand-off after a hold of so long to one that spins; beside it, to one that
//                   waits in the queue: where they cross, spinning has lost its point
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bench_report.h"
#include "oncemq/locks/lock_domain.h"

namespace oncemq::bench {

struct LockSubject {
  std::string name;  // before each figure; may be empty
  LockDomain& one;   // of two processes, as far as the store can tell
  LockDomain& two;
  std::function<void()> raw;
  // What a hand-off stands beside, in us: what is wanted, or what something took just now.
  std::function<double()> wake;
  int pairs = 1'000;  // in each of ten rounds
  int hand_offs = 500;
};

inline double At(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
}

inline void Need(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "bench: %s\n", what);
    std::exit(1);
  }
}

// Turn and turn about, so that what the machine does hits both. Returns what a raw pair takes.
inline double Pairs(const LockSubject& subject, Report& report) {
  constexpr int kRounds = 10;
  std::array<std::vector<double>, 4> all;
  for (int round = 0; round < kRounds; round++) {
    std::vector<double> ours;
    std::vector<double> floors;
    for (int i = 0; i < subject.pairs; i++) {
      double begin = WallSeconds();
      subject.raw();
      floors.push_back((WallSeconds() - begin) * 1e6);
      begin = WallSeconds();
      auto lease = subject.one.Acquire("pair");
      Need(lease && *lease && (*lease)->Release() == Released::kYes, "the pair failed");
      ours.push_back((WallSeconds() - begin) * 1e6);
    }
    all[0].push_back(At(ours, 0.5));
    all[1].push_back(At(floors, 0.5));
    all[2].push_back(At(ours, 0.99));
    all[3].push_back(At(floors, 0.99));
  }
  report.AddPairs(subject.name + "pair, median", all[0], "us", all[1]);
  report.AddPairs(subject.name + "pair, 99th percentile", all[2], "us", all[3]);
  return Median(all[1]);
}

// us from the call of release, once `waits` has returned, to the return of the other's acquire.
template <class Waits>
double HandOff(const LockSubject& subject, const AcquireOptions& how, const Waits& waits) {
  auto holder = subject.one.Acquire("hand-off");
  Need(holder && *holder, "no hold");
  std::atomic<bool> asks{false};
  std::atomic<double> got{0};
  std::jthread waiter([&] {
    asks = true;
    const auto lease = subject.two.Acquire("hand-off", how);
    got = WallSeconds();
    Need(lease && *lease, "no turn");
  });
  while (!asks) {
    std::this_thread::yield();
  }
  waits();
  const double begin = WallSeconds();
  (*holder)->Release();
  waiter.join();
  return (got - begin) * 1e6;
}

inline void HandOffs(const LockSubject& subject, Report& report) {
  const bool queues = subject.one.engine().capabilities().fair;
  const auto waits = [&] {
    if (!queues) {
      SleepFor(milliseconds(20));  // nobody is woken: it is a matter of when the waiter asks again
    }
    while (queues && subject.one.engine().Look("hand-off")->parties.size() < 2) {
      std::this_thread::yield();
    }
  };
  std::vector<double> took;
  std::vector<double> beside;
  for (int i = 0; i < subject.hand_offs; i++) {
    beside.push_back(subject.wake());
    took.push_back(HandOff(subject, {}, waits));
  }
  report.Add(subject.name + "hand-off, median", At(took, 0.5), "us", At(beside, 0.5));
  report.Add(subject.name + "hand-off, 99th percentile", At(took, 0.99), "us", At(beside, 0.99));
}

// How often each of so many threads got the name, in as many seconds.
inline std::vector<double> Contended(LockDomain& domain, size_t count, double seconds) {
  std::vector<double> got(count);
  std::atomic<bool> ends{false};
  std::vector<std::jthread> threads;
  for (size_t t = 0; t < count; t++) {
    threads.emplace_back([&, t] {
      while (!ends) {
        const auto lease = domain.Acquire("contended");
        Need(lease && *lease, "no turn");
        got[t]++;
      }
    });
  }
  SleepFor(milliseconds(static_cast<int64_t>(seconds * 1000)));
  ends = true;
  threads.clear();
  return got;
}

inline double Sum(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return sum;
}

inline void Contenders(const LockSubject& subject, size_t count, double raw_pair, Report& report) {
  constexpr double kSeconds = 2;
  const double begin = WallSeconds();
  const auto got = Contended(subject.one, count, kSeconds);
  const double took = WallSeconds() - begin;
  const std::string who =
      subject.name + std::to_string(count) + (count == 1 ? " contender" : " contenders");
  report.Add(who, Sum(got) / took, "locks/s", 1e6 / raw_pair);
  report.Add(who + ", least to most", At(got, 0), "locks", At(got, 1));
}

inline void Crossing(const LockSubject& subject, Report& report) {
  constexpr int kTimes = 200;
  AcquireOptions spin;
  spin.wait = {.how = LockWait::How::kSpin, .spin = milliseconds(10'000)};
  for (const int64_t held : {0, 20, 50, 200, 1'000, 5'000, 20'000}) {
    const auto waits = [&] {
      const double end = WallSeconds() + static_cast<double>(held) / 1e6;
      while (WallSeconds() < end) {
        std::this_thread::yield();
      }
    };
    std::vector<double> spun;
    std::vector<double> blocked;
    for (int i = 0; i < kTimes; i++) {
      blocked.push_back(HandOff(subject, {}, waits));
      spun.push_back(HandOff(subject, spin, waits));
    }
    report.Add(subject.name + "held for " + std::to_string(held) + " us: spin (block)",
               At(spun, 0.5), "us", At(blocked, 0.5));
  }
}

inline void MeasureLocks(const LockSubject& subject, Report& report) {
  const double raw_pair = Pairs(subject, report);
  HandOffs(subject, report);
  for (const size_t count : {1, 8, 64}) {
    Contenders(subject, count, raw_pair, report);
  }
  if (subject.one.engine().capabilities().fair) {
    Crossing(subject, report);
  }
}

}  // namespace oncemq::bench
