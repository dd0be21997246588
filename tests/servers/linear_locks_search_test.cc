// SPDX-License-Identifier: Apache-2.0
// The search against one that leaves nothing out: every moment, every order, and every moment at
// which a hold may end by itself. Small histories of chance, with the same verdict for each.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <sstream>

#include "linear_locks.h"

namespace oncemq::testing {
namespace {

using Answer = LockCall::Answer;
using What = LockCall::What;

constexpr int64_t kShortLease = 4;
constexpr int64_t kLastMoment = 16;

struct Held {
  uint64_t fence;
  int64_t ends;
};

// By the token's number: odd ones share; or all but one are counted, with limits that differ.
struct Modes {
  bool counted = false;

  LockMode Of(uint64_t token) const {
    if (counted) {
      return token == 5 ? LockMode::kExclusive : LockMode::kCounted;
    }
    return token % 2 == 1 ? LockMode::kShared : LockMode::kExclusive;
  }
  uint32_t LimitOf(uint64_t token) const {
    return Of(token) != LockMode::kCounted ? 0 : token == 1 ? 1 : 2;
  }
};

struct World {
  size_t done = 0;  // a bit for each call
  int64_t now = 0;
  uint64_t last = 0;
  std::map<uint64_t, Held> holds;
};

class EveryWay {
 public:
  EveryWay(std::vector<LockCall> calls, Modes modes) : modes_(modes), calls_(std::move(calls)) {}

  bool Can(const World& world) {
    if (world.done + 1 == size_t{1} << calls_.size()) {
      return true;
    }
    if (world.now > kLastMoment || !tried_.insert(Text(world)).second) {
      return false;
    }
    for (size_t i = 0; i < calls_.size(); i++) {
      World next = world;
      if ((world.done >> i) % 2 == 0 && Do(calls_[i], next)) {
        next.done |= size_t{1} << i;
        if (Can(next)) {
          return true;
        }
      }
    }
    for (const auto& [token, held] : world.holds) {
      World next = world;
      next.holds.erase(token);
      if (world.now >= std::min(held.ends, Leaves(token)) && Can(next)) {
        return true;
      }
    }
    World later = world;
    later.now++;
    return Can(later);
  }

 private:
  static std::string Text(const World& world) {
    std::ostringstream text;
    text << world.done << " " << world.now << " " << world.last;
    for (const auto& [token, held] : world.holds) {
      text << " " << token << ":" << held.fence << ":" << held.ends;
    }
    return text.str();
  }
  // From when on a release that was not answered may end it.
  int64_t Leaves(uint64_t token) const {
    int64_t since = LockCall::kNever;
    for (const LockCall& call : calls_) {
      if (call.answer == Answer::kOpen && call.token.attempt == token) {
        since = std::min(since, call.requested_at);
      }
    }
    return since;
  }
  bool Do(const LockCall& call, World& world) const {
    const uint64_t token = call.token.attempt;
    const auto own = world.holds.find(token);
    const bool holds = own != world.holds.end();
    if (call.answer == Answer::kOpen) {
      return true;  // done, or not: Leaves()
    }
    if (world.now < call.requested_at || world.now > call.answered_at) {
      return false;
    }
    switch (call.answer) {
      case Answer::kGranted:
        if (holds) {
          own->second.ends = call.requested_at + kShortLease;
          return own->second.fence == call.fence.token;
        }
        for (const auto& [other, held] : world.holds) {
          if (modes_.Of(other) != modes_.Of(token) || modes_.Of(token) == LockMode::kExclusive) {
            return false;
          }
        }
        if (modes_.counted && world.holds.size() >= std::max(1u, modes_.LimitOf(token))) {
          return false;
        }
        if (call.fence.token <= world.last) {
          return false;
        }
        world.last = call.fence.token;
        world.holds[token] = {call.fence.token, call.requested_at + kShortLease};
        return true;
      case Answer::kExtended:
        if (holds) {
          own->second.ends = call.requested_at + kShortLease;
        }
        return holds;
      case Answer::kFreed:
        world.holds.erase(token);
        return holds;
      default:
        return !holds;
    }
  }

  const Modes modes_;
  const std::vector<LockCall> calls_;
  std::set<std::string> tried_;
};

std::vector<LockCall> OfChance(std::mt19937& random, Modes modes) {
  const auto below = [&](uint32_t limit) { return static_cast<int64_t>(random() % limit); };
  static constexpr std::pair<What, Answer> kKinds[] = {
      {What::kRequest, Answer::kGranted}, {What::kRequest, Answer::kGranted},
      {What::kRequest, Answer::kGranted}, {What::kExtend, Answer::kExtended},
      {What::kExtend, Answer::kGone},     {What::kFree, Answer::kFreed},
      {What::kFree, Answer::kNotHeld},    {What::kFree, Answer::kOpen}};
  std::vector<LockCall> calls;
  for (int64_t i = 0; i < 5; i++) {
    const auto token = static_cast<uint64_t>(1 + below(modes.counted ? 5 : 4));
    const auto [what, answer] = kKinds[below(std::size(kKinds))];
    LockCall call{.process = 1,
                  .name = "x",
                  .token = {1, token},
                  .what = what,
                  .mode = modes.Of(token),
                  .lease = kShortLease,
                  .requested_at = i + below(5),
                  .answer = answer,
                  .limit = modes.LimitOf(token)};
    if (answer != Answer::kOpen) {
      call.answered_at = call.requested_at + below(6);
    }
    if (answer == Answer::kGranted) {
      call.fence = {0, static_cast<uint64_t>(1 + i + below(2))};
    }
    calls.push_back(call);
  }
  return calls;
}

void CompareVerdicts(Modes modes) {
  std::mt19937 random(5);
  int can = 0;
  constexpr int kHistories = 6'000;
  for (int i = 0; i < kHistories; i++) {
    const std::vector<LockCall> calls = OfChance(random, modes);
    const bool expected = EveryWay(calls, modes).Can({});
    const LinearVerdict verdict = CheckLinear(calls);
    can += expected ? 1 : 0;
    if ((verdict.kind == LinearVerdict::Kind::kYes) != expected) {
      std::string all;
      for (const LockCall& call : calls) {
        all += ToString(call) + "\n";
      }
      FAIL() << (expected ? "there is an order of\n" : "there is no order of\n") << all
             << verdict.why;
    }
  }
  EXPECT_GT(can, kHistories / 50);
  EXPECT_LT(can, kHistories / 2);
}

TEST(LinearLocksSearch, FindsAnOrderWhereverThereIsOne) {
  CompareVerdicts({});
}

TEST(LinearLocksSearch, FindsAnOrderOfCountedHoldsWhereverThereIsOne) {
  CompareVerdicts({.counted = true});
}

}  // namespace
}  // namespace oncemq::testing
