// SPDX-License-Identifier: Apache-2.0
// Many threads at once. What each of them is told must fit one order of steps.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "window_test.h"

namespace oncemq::conformance {
namespace {

constexpr int kThreads = 8;

// Runs `work(thread)` in all threads, which set out together.
template <class Work>
void Together(Work work) {
  std::barrier start(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; thread++) {
    threads.emplace_back([&, thread] {
      start.arrive_and_wait();
      work(thread);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

Token TokenOf(int thread, int round) {
  return {static_cast<uint64_t>(thread) + 1, static_cast<uint64_t>(round) + 1};
}

// The calls below send no assertion from a thread: they return what happened.
ClaimVerdict ClaimFrom(Window& window, const Attempt& a) {
  const ClaimRequest request{a.id, a.token, a.at, a.owner_epoch, a.fingerprint};
  ClaimAnswer answer;
  const bool answered = window.Claim({&request, 1}, {&answer, 1}).has_value();
  return answered ? answer.answer : ClaimVerdict::kIncomplete;
}

bool CompleteFrom(Window& window, const Attempt& a) {
  const CompleteRequest request{a.id, a.token, a.at, {}};
  MarkerChange change{};
  return window.Complete({&request, 1}, {&change, 1}).has_value() && change == MarkerChange::kMade;
}

}  // namespace

WINDOW_TEST(IfStoresClaims, OfManyThreadsExactlyOneIsGrantedAnId) {
  for (int round = 0; round < 50; round++) {
    const std::string id = "id-" + std::to_string(round);
    std::vector<ClaimVerdict> answers(kThreads);
    Together([&](int thread) {
      answers[static_cast<size_t>(thread)] =
          ClaimFrom(window(), {.id = id, .token = TokenOf(thread, round)});
    });
    EXPECT_EQ(std::count(answers.begin(), answers.end(), ClaimVerdict::kGranted), 1);
    EXPECT_EQ(std::count(answers.begin(), answers.end(), ClaimVerdict::kInFlight), kThreads - 1);
  }
}

WINDOW_TEST(WithLeases, OfManyThreadsExactlyOneTakesAnEndedLeaseOver) {
  constexpr int kIds = 20;
  std::vector<std::string> ids;
  for (int i = 0; i < kIds; i++) {
    Claim(New(ids.emplace_back("id-" + std::to_string(i))));
  }
  Advance(kTimes.lease + milliseconds(500));
  std::vector<std::atomic<int>> granted(kIds);
  Together([&](int thread) {
    for (size_t i = 0; i < kIds; i++) {
      granted[i] += ClaimFrom(window(), {.id = ids[i], .token = TokenOf(thread, 0)}) ==
                    ClaimVerdict::kGranted;
    }
  });
  for (const std::atomic<int>& count : granted) {
    EXPECT_EQ(count, 1);
  }
}

WINDOW_TEST(Always, OwnershipsRaisedAtOnceAreAllDifferentAndTheHighestHolds) {
  constexpr int kRaises = 50;
  std::vector<std::vector<OwnerEpoch>> raised(kThreads);
  Together([&](int thread) {
    for (int i = 0; i < kRaises; i++) {
      Result<OwnerEpoch> owner_epoch = window().RaiseOwnerEpoch(0, 3, 0);
      while (!owner_epoch && owner_epoch.error().code == Code::kUnavailable) {
        owner_epoch = window().RaiseOwnerEpoch(0, 3, 0);  // others raise it at this moment
      }
      raised[static_cast<size_t>(thread)].push_back(owner_epoch.value_or(0));
    }
  });
  std::set<OwnerEpoch> all;
  for (const std::vector<OwnerEpoch>& owner_epochs : raised) {
    EXPECT_TRUE(std::is_sorted(owner_epochs.begin(), owner_epochs.end()));
    all.insert(owner_epochs.begin(), owner_epochs.end());
  }
  EXPECT_EQ(all.size(), size_t{kThreads} * kRaises);
  EXPECT_FALSE(all.contains(0));
  for (const OwnerEpoch owner_epoch : all) {
    Attempt claim = New();
    claim.owner_epoch = owner_epoch;
    EXPECT_EQ(Claim(claim).answer,
              owner_epoch == *all.rbegin() ? ClaimVerdict::kGranted : ClaimVerdict::kFenced);
  }
}

// Each thread delivers every id once, claims until it is told the outcome, and sometimes gives the
// claim back instead of finishing. An effect counts when its completion is made.
WINDOW_TEST(IfStoresClaims, UnderAStormOfCopiesEachEffectHappensOnce) {
  constexpr int kIds = 300;
  std::vector<std::string> ids;
  for (int i = 0; i < kIds; i++) {
    ids.push_back("id-" + std::to_string(i));
  }
  std::vector<std::atomic<int>> running(kIds);
  std::vector<std::atomic<int>> effects(kIds);
  std::atomic<int> overlaps = 0;
  std::atomic<int> failures = 0;
  Together([&](int thread) {
    for (int step = 0; step < kIds; step++) {
      const auto i = static_cast<size_t>((step + thread * 7) % kIds);
      for (int round = 0; failures == 0; round++) {
        const Attempt attempt{.id = ids[i], .token = TokenOf(thread, step * 1'000'000 + round)};
        const ClaimVerdict answer = ClaimFrom(window(), attempt);
        if (answer == ClaimVerdict::kDuplicate) {
          break;
        }
        if (answer == ClaimVerdict::kInFlight) {
          std::this_thread::yield();
          continue;
        }
        failures += answer != ClaimVerdict::kGranted;
        overlaps += running[i].fetch_add(1) != 0;
        std::this_thread::yield();
        running[i].fetch_sub(1);
        if ((step + thread + round) % 3 == 0) {
          const ReleaseRequest release{attempt.id, attempt.token, false, attempt.at};
          MarkerChange change{};
          failures += !window().Release({&release, 1}, {&change, 1}).has_value() ||
                      change != MarkerChange::kMade;
          continue;
        }
        const bool made = CompleteFrom(window(), attempt);
        failures += !made;
        effects[i] += made;
      }
    }
  });
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(overlaps, 0);
  for (const std::atomic<int>& count : effects) {
    EXPECT_EQ(count, 1);
  }
}

}  // namespace oncemq::conformance
