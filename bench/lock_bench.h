// SPDX-License-Identifier: Apache-2.0
// What a lock costs in a store, beside the raw calls that the simplest lock there cannot do
// without.
//
//   pair            acquire and release, nobody else wants it: median and 99th percentile
//   hand-off        from the call of release to the return of the acquire of a waiter in another
//                   domain: of this process, but the store cannot tell; beside it, from the raw
//                   release to the raw grant of a raw waiter
//   contenders      locks per second with 1, 8 and 64 threads for one name; beside it, how many raw
//                   pairs so many threads make, each for a name of its own. Then how often the one
//                   that came least had its turn, beside the one that came most
//   held            the hand-off after a hold of so long to one that spins; beside it, to one that
//                   waits in the queue: where they cross, spinning has lost its point
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "bench_report.h"
#include "oncemq/locks/lock_domain.h"

namespace oncemq::bench {

// What a thread does again and again.
using Turn = std::function<void()>;

struct LockSubject {
  std::string name;  // before each figure; may be empty
  LockDomain& one;   // of two processes, as far as the store can tell
  LockDomain& two;
  // Takes and gives back by raw calls, for each thread a name of its own, over a connection of its
  // own or over its share of as many as the engine has.
  std::function<Turn(size_t thread)> raw;
  // us from a raw release to the raw grant of one that waits for it.
  std::function<double()> raw_hand_off;
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

// Turn and turn about, so that what the machine does hits both.
inline void Pairs(const LockSubject& subject, Report& report) {
  const Turn raw = subject.raw(0);
  constexpr int kRounds = 10;
  std::array<std::vector<double>, 4> all;
  for (int round = 0; round < kRounds; round++) {
    std::vector<double> ours;
    std::vector<double> floors;
    for (int i = 0; i < subject.pairs; i++) {
      double begin = WallSeconds();
      raw();
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
}

// A raw hand-off where nobody is woken: us from the call of `give` to a `take` of another thread,
// which asks without a pause, that answered true.
template <class Take, class Give>
double SpunHandOff(const Take& take, const Give& give) {
  std::atomic<bool> asks{false};
  double got = 0;
  std::jthread taker([&] {
    while (!take()) {
      asks = true;
    }
    got = WallSeconds();
  });
  while (!asks) {
    std::this_thread::yield();
  }
  const double begin = WallSeconds();
  give();
  taker.join();
  return (got - begin) * 1e6;
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

// For HandOff.
struct UntilOneWaits {
  const LockSubject& subject;

  void operator()() const {
    const bool queues = subject.one.engine().capabilities().fair;
    if (!queues) {
      SleepFor(milliseconds(20));  // nobody is woken: it is a matter of when the waiter asks again
    }
    while (queues && subject.one.engine().Read("hand-off")->parties.size() < 2) {
      std::this_thread::yield();
    }
  }
};

inline void HandOffs(const LockSubject& subject, Report& report) {
  std::vector<double> took;
  std::vector<double> beside;
  for (int i = 0; i < subject.hand_offs; i++) {
    beside.push_back(subject.raw_hand_off());
    took.push_back(HandOff(subject, {}, UntilOneWaits{subject}));
  }
  report.Add(subject.name + "hand-off, median", At(took, 0.5), "us", At(beside, 0.5));
  report.Add(subject.name + "hand-off, 99th percentile", At(took, 0.99), "us", At(beside, 0.99));
}

struct Turns {
  std::vector<double> of_each;  // thread
  double per_second = 0;        // of all
};

// Of so many threads, in so many seconds.
inline Turns TurnsOf(size_t count, int seconds, const std::function<Turn(size_t thread)>& turn_of) {
  Turns turns{std::vector<double>(count)};
  std::atomic<bool> ends{false};
  std::latch warm(static_cast<std::ptrdiff_t>(count) + 1);
  std::vector<std::jthread> threads;
  for (size_t t = 0; t < count; t++) {
    threads.emplace_back([&, t] {
      const Turn turn = turn_of(t);
      turn();
      warm.arrive_and_wait();
      double mine = 0;
      while (!ends) {
        turn();
        mine++;
      }
      turns.of_each[t] = mine;
    });
  }
  warm.arrive_and_wait();
  const double begin = WallSeconds();
  SleepFor(milliseconds(seconds * 1'000));
  ends = true;
  threads.clear();
  const double took = WallSeconds() - begin;
  for (const double mine : turns.of_each) {
    turns.per_second += mine / took;
  }
  return turns;
}

// The raw pairs before and behind, so that what the machine does hits both.
inline void Contenders(const LockSubject& subject, size_t count, Report& report) {
  const Turn contend = [&] {
    const auto lease = subject.one.Acquire("contended");
    Need(lease && *lease, "no turn");
  };
  const double before = TurnsOf(count, 1, subject.raw).per_second;
  const Turns ours = TurnsOf(count, 2, [&](size_t) { return contend; });
  const double behind = TurnsOf(count, 1, subject.raw).per_second;
  const std::string who =
      subject.name + std::to_string(count) + (count == 1 ? " contender" : " contenders");
  report.Add(who, ours.per_second, "locks/s", (before + behind) / 2);
  if (count > 1) {
    report.Add(who + ", least to most", At(ours.of_each, 0), "locks", At(ours.of_each, 1));
  }
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
  Pairs(subject, report);
  HandOffs(subject, report);
  for (const size_t count : {1, 8, 64}) {
    Contenders(subject, count, report);
  }
  if (subject.one.engine().capabilities().fair) {
    Crossing(subject, report);
  }
}

}  // namespace oncemq::bench
