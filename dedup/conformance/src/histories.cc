// SPDX-License-Identifier: Apache-2.0
// I8: what threads were told at the same time fits one order of steps of the plain model, and that
// order keeps to the order in which calls ended before others began. Small histories of one id,
// every order tried (Wing and Gong's search), states that were seen before left out.
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

constexpr int kClients = 4;
constexpr int kCallsOfClient = 4;

enum class Kind : uint8_t { kClaim, kComplete, kRelease };

struct HistoryCall {
  Kind kind;
  Token token;
  uint64_t began;
  uint64_t ended;
  ClaimVerdict answer;  // of a claim
  MarkerChange change;  // of the others
};

// free, held by a token, or done by one: all that one id can be, while no lease ends.
struct State {
  enum class Is : uint8_t { kFree, kHeld, kDone } is = Is::kFree;
  Token token;
};

// Whether the call could have been told this in that state; then the state moves on.
bool Fits(const HistoryCall& call, State& state) {
  const bool mine = state.is != State::Is::kFree && state.token == call.token;
  switch (call.kind) {
    case Kind::kClaim:
      if (state.is == State::Is::kDone) {
        return call.answer == ClaimVerdict::kDuplicate;
      }
      if (state.is == State::Is::kHeld && !mine) {
        return call.answer == ClaimVerdict::kInFlight;
      }
      state = {State::Is::kHeld, call.token};
      return call.answer == ClaimVerdict::kGranted;
    case Kind::kComplete:
      state.is = mine ? State::Is::kDone : state.is;
      return (call.change == MarkerChange::kMade) == mine;
    case Kind::kRelease: {
      const bool holds = mine && state.is == State::Is::kHeld;
      const bool nothing = state.is == State::Is::kFree;  // what it asked for is so already
      state.is = holds ? State::Is::kFree : state.is;
      return (call.change == MarkerChange::kMade) == (holds || nothing);
    }
  }
  return false;
}

class Search {
 public:
  explicit Search(const std::vector<HistoryCall>& calls) : calls_(calls) {}
  bool FindsAnOrder() { return From(0, State{}); }

 private:
  bool From(uint32_t done, const State& state) {
    if (done == (1U << calls_.size()) - 1) {
      return true;
    }
    if (!seen_.emplace(done, state.is, state.token.process, state.token.attempt).second) {
      return false;
    }
    uint64_t first_end = ~uint64_t{0};
    for (size_t i = 0; i < calls_.size(); i++) {
      if ((done >> i & 1U) == 0) {
        first_end = std::min(first_end, calls_[i].ended);
      }
    }
    for (size_t i = 0; i < calls_.size(); i++) {
      State next = state;
      // Nobody comes before a call that had ended when it began.
      if ((done >> i & 1U) == 0 && calls_[i].began <= first_end && Fits(calls_[i], next) &&
          From(done | 1U << i, next)) {
        return true;
      }
    }
    return false;
  }

  const std::vector<HistoryCall>& calls_;
  std::set<std::tuple<uint32_t, State::Is, uint64_t, uint64_t>> seen_;
};

// Claims; what is granted is completed or given back. `time` orders beginnings and ends.
void Play(Window& window, const std::string& id, int client, std::atomic<uint64_t>& time,
          std::vector<HistoryCall>& calls) {
  Token token{static_cast<uint64_t>(client) + 1, 1};
  Kind kind = Kind::kClaim;
  for (int i = 0; i < kCallsOfClient; i++) {
    HistoryCall call{kind, token, time++, 0, ClaimVerdict::kIncomplete, MarkerChange::kFenced};
    ClaimAnswer answer;
    bool answered = false;
    if (kind == Kind::kClaim) {
      const ClaimRequest request{id, token, {0, 3, client}, 0, 0};
      answered = window.Claim({&request, 1}, {&answer, 1}).has_value();
    } else if (kind == Kind::kComplete) {
      const CompleteRequest request{id, token, {0, 3, client}, {}};
      answered = window.Complete({&request, 1}, {&call.change, 1}).has_value();
    } else {
      const ReleaseRequest request{id, token, false, {0, 3, client}};
      answered = window.Release({&request, 1}, {&call.change, 1}).has_value();
    }
    call.ended = time++;
    call.answer = answered ? answer.answer : ClaimVerdict::kIncomplete;
    calls.push_back(call);
    if (kind == Kind::kClaim && call.answer == ClaimVerdict::kGranted) {
      kind = (client + i) % 3 == 0 ? Kind::kComplete : Kind::kRelease;
    } else {
      kind = Kind::kClaim;
      token.attempt++;
    }
  }
}

}  // namespace

WINDOW_TEST(IfStoresClaims, WhatThreadsAreToldAtOnceFitsOneOrderOfSteps) {
  for (int round = 0; round < 300; round++) {
    const std::string id = "id-" + std::to_string(round);
    std::atomic<uint64_t> time = 0;
    std::barrier start(kClients);
    std::vector<std::vector<HistoryCall>> of_client(kClients);
    std::vector<std::thread> threads;
    for (int client = 0; client < kClients; client++) {
      threads.emplace_back([&, client] {
        start.arrive_and_wait();
        Play(window(), id, client, time, of_client[static_cast<size_t>(client)]);
      });
    }
    std::vector<HistoryCall> calls;
    for (size_t client = 0; client < threads.size(); client++) {
      threads[client].join();
      calls.insert(calls.end(), of_client[client].begin(), of_client[client].end());
    }
    ASSERT_TRUE(Search(calls).FindsAnOrder()) << "round " << round;
  }
}

}  // namespace oncemq::conformance
