// SPDX-License-Identifier: Apache-2.0
#include "linear_locks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "linear_state.h"

namespace oncemq::testing {
namespace {

using Answer = LockCall::Answer;
using What = LockCall::What;

constexpr int64_t kNever = LockCall::kNever;
constexpr size_t kMostReported = 6;

// What those of its calls that do not enter the search say of a token.
struct Owner {
  int64_t requested_open = kNever;    // M3: from when on it may hold without a word
  int64_t requested_queued = kNever;  // the same, if it was never granted
  bool granted = false;
  LockMode mode = LockMode::kExclusive;
  uint32_t limit = 0;       // of a counted one
  int64_t leaves = kNever;  // M3: from when on a release may end its hold

  int64_t may_hold() const {
    return granted ? requested_open : std::min(requested_open, requested_queued);
  }
};

struct OneCall {
  LockCall call;
  size_t owner;
};

using Owners = std::vector<size_t>;

class Search {
 public:
  Search(std::vector<LockCall> calls, const LinearRules& rules) : rules_(rules) {
    std::map<std::pair<uint64_t, uint64_t>, size_t> numbers;
    for (LockCall& call : calls) {
      const auto at = numbers.try_emplace({call.token.process, call.token.attempt}, owners_.size());
      if (at.second) {
        owners_.emplace_back();
      }
      Owner& owner = owners_[at.first->second];
      if (call.mode != LockMode::kExclusive) {
        owner.mode = call.mode;
        owner.limit = call.limit;
      }
      owner.granted = owner.granted || call.answer == Answer::kGranted;
      if (call.answer == Answer::kOpen || call.answer == Answer::kQueued) {
        int64_t& since = call.what == What::kFree         ? owner.leaves
                         : call.answer == Answer::kQueued ? owner.requested_queued
                                                          : owner.requested_open;
        if (call.what != What::kExtend) {
          since = std::min(since, call.requested_at);
        }
      } else if (call.answer != Answer::kNothing) {
        calls_.push_back({std::move(call), at.first->second});
      }
    }
    std::stable_sort(calls_.begin(), calls_.end(), [](const OneCall& a, const OneCall& b) {
      return a.call.requested_at < b.call.requested_at;
    });
    done_.resize(calls_.size());
  }

  LinearVerdict Run();

 private:
  struct Frame {
    LinearState state;
    size_t first;
    std::vector<size_t> next;       // the calls that may be done next, the best last
    size_t did = 0;                 // the call that led here
    size_t top = 0;                 // nothing from here on is done
    size_t doing = 0;               // the call that was taken from `next`
    std::vector<LinearState> ways;  // in which it can be done, the best last
  };

  // None: it cannot be done now, and why_ says why.
  std::vector<LinearState> Steps(const LinearState& before, const OneCall& call);
  // `ended`: those who are counted and are held no longer, so that there is room.
  std::optional<LinearState> Step(const LinearState& before, const OneCall& call,
                                  const Owners& ended);
  std::vector<Owners> WhoEnded(const LinearState& before, const OneCall& call) const;
  bool NeedsRoom(const LinearState& before, const OneCall& call) const;
  bool Grant(LinearState& state, const OneCall& call, const Owners& ended, int64_t& at);
  // Those who hold against it must have ended.
  void EndOthers(LinearState& state, size_t owner, const Owners& ended, int64_t& at) const;
  int64_t MayEnd(const LinearHold& hold) const {
    return rules_.keeps_holds ? std::min(hold.ends, owners_[hold.owner].leaves) : kAnyTime;
  }
  std::vector<size_t> Candidates(size_t first) const;
  size_t FirstUndone(size_t from) const {
    while (from < done_.size() && done_[from]) {
      from++;
    }
    return from;
  }
  void Remember(const std::vector<Frame>& path);

  const LinearRules rules_;
  std::vector<Owner> owners_;
  std::vector<OneCall> calls_;  // those that were answered and say something
  std::vector<bool> done_;
  std::unordered_map<std::string, int64_t> seen_;  // with the earliest moment
  std::string why_;
  size_t farthest_ = 0;
  std::string report_;
};

// Whether a counted hold begins by this call, or is heard of for the first time.
bool Search::NeedsRoom(const LinearState& before, const OneCall& call) const {
  const bool granted = call.call.answer == Answer::kGranted;
  if (owners_[call.owner].mode != LockMode::kCounted ||
      !(granted || call.call.answer == Answer::kExtended ||
        (call.call.answer == Answer::kFreed && !rules_.half_grants))) {
    return false;
  }
  return std::none_of(before.holds.begin(), before.holds.end(), [&](const LinearHold& hold) {
    return hold.owner == call.owner && (!granted || hold.fence == call.call.fence);
  });
}

// All choices of so many that there is room for it; those that end first last.
std::vector<Owners> Search::WhoEnded(const LinearState& before, const OneCall& call) const {
  if (!NeedsRoom(before, call)) {
    return {{}};
  }
  const Owner& owner = owners_[call.owner];
  const bool came_earlier = owner.may_hold() < call.call.answered_at;
  std::vector<LinearHold> others;
  size_t limit = owner.limit;
  for (const LinearHold& hold : before.holds) {
    if (hold.owner != call.owner && hold.mode == LockMode::kCounted) {
      others.push_back(hold);
      limit = came_earlier ? std::max<size_t>(limit, owners_[hold.owner].limit) : limit;
    }
  }
  if (others.size() < limit) {
    return {{}};
  }
  std::sort(others.begin(), others.end(),
            [&](const LinearHold& a, const LinearHold& b) { return MayEnd(a) < MayEnd(b); });
  std::vector<bool> chosen(others.size(), false);
  std::fill_n(chosen.begin(), std::min(others.size(), others.size() + 1 - limit), true);
  std::vector<Owners> all;
  do {
    Owners& ended = all.emplace_back();
    for (size_t i = 0; i < others.size(); i++) {
      if (chosen[i]) {
        ended.push_back(others[i].owner);
      }
    }
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
  std::reverse(all.begin(), all.end());
  return all;
}

void Search::EndOthers(LinearState& state, size_t owner, const Owners& ended, int64_t& at) const {
  const LockMode mode = owners_[owner].mode;
  std::erase_if(state.holds, [&](const LinearHold& hold) {
    const bool beside = mode != LockMode::kExclusive && hold.mode == mode &&
                        std::find(ended.begin(), ended.end(), hold.owner) == ended.end();
    const bool against = hold.owner != owner && !beside;
    if (against) {
      at = std::max(at, MayEnd(hold));
    }
    return against;
  });
}

bool Search::Grant(LinearState& state, const OneCall& call, const Owners& ended, int64_t& at) {
  const LockCall& request = call.call;
  const int64_t ends = request.requested_at + request.lease - request.lease / 1'000;
  const auto own = std::find_if(state.holds.begin(), state.holds.end(),
                                [&](const LinearHold& hold) { return hold.owner == call.owner; });
  if (own != state.holds.end() && own->fence == request.fence) {
    own->ends = ends;
    return true;
  }
  if (own != state.holds.end()) {
    at = request.fence.epoch > own->fence.epoch ? at : std::max(at, MayEnd(*own));
    state.holds.erase(own);
  }
  EndOthers(state, call.owner, ended, at);
  // One that is held beside others may have been granted earlier, by a request that was not
  // answered.
  const Owner& owner = owners_[call.owner];
  const int64_t may_hold = rules_.fences_of_requests
                               ? std::min(owner.requested_open, owner.requested_queued)
                               : owner.may_hold();
  const auto mine = static_cast<size_t>(owner.mode);
  Fence against;  // the last of those that it excludes
  for (size_t mode = 0; mode < state.last.size(); mode++) {
    against = mode == mine ? against : std::max(against, state.last[mode]);
  }
  const bool earlier = owner.mode != LockMode::kExclusive && may_hold < request.answered_at &&
                       request.fence > against;
  if (!request.fence.empty() && request.fence <= std::max(against, state.last[mine]) && !earlier) {
    why_ = "its fence is not greater than that of an earlier grant";
    return false;
  }
  state.last[mine] = std::max(state.last[mine], request.fence);
  state.holds.push_back({call.owner, owner.mode, request.fence, ends});
  return true;
}

std::optional<LinearState> Search::Step(const LinearState& before, const OneCall& call,
                                        const Owners& ended) {
  LinearState state = before;
  const LockCall& said = call.call;
  int64_t at = std::max(state.now, said.requested_at);
  const auto own = std::find_if(state.holds.begin(), state.holds.end(),
                                [&](const LinearHold& hold) { return hold.owner == call.owner; });
  const bool holds = own != state.holds.end();
  if (said.answer == Answer::kGranted) {
    if (!Grant(state, call, ended, at)) {
      return std::nullopt;
    }
  } else if (said.answer == Answer::kGone || said.answer == Answer::kNotHeld) {
    if (holds) {
      at = std::max(at, MayEnd(*own));
      state.holds.erase(own);
    }
  } else {
    if (!holds && owners_[call.owner].may_hold() > said.answered_at) {
      why_ = "it holds nothing";
      return std::nullopt;
    }
    if (!holds) {
      at = std::max(at, owners_[call.owner].may_hold());
      if (said.answer != Answer::kFreed || !rules_.half_grants) {  // M7
        EndOthers(state, call.owner, ended, at);
      }
    }
    if (said.answer == Answer::kFreed && holds) {
      state.holds.erase(own);
    } else if (said.answer == Answer::kExtended) {
      const int64_t ends = said.requested_at + said.lease - said.lease / 1'000;
      if (holds) {
        own->ends = ends;
      } else {
        state.holds.push_back({call.owner, owners_[call.owner].mode, {}, ends});
      }
    }
  }
  if (at > said.answered_at) {
    why_ = "a hold would have to end by itself before " + std::to_string(at);
    return std::nullopt;
  }
  state.now = at;
  return state;
}

std::vector<LinearState> Search::Steps(const LinearState& before, const OneCall& call) {
  std::vector<LinearState> all;
  for (const Owners& ended : WhoEnded(before, call)) {
    if (auto state = Step(before, call, ended)) {
      all.push_back(*std::move(state));
    }
  }
  return all;
}

// No call is done behind the answer of one that is still to be done.
std::vector<size_t> Search::Candidates(size_t first) const {
  std::vector<size_t> next;
  int64_t answered = kNever;
  for (size_t i = first; i < calls_.size() && calls_[i].call.requested_at <= answered; i++) {
    if (!done_[i]) {
      next.push_back(i);
      answered = std::min(answered, calls_[i].call.answered_at);
    }
  }
  // Those that were answered first were done first, as a rule.
  std::sort(next.begin(), next.end(), [&](size_t a, size_t b) {
    return calls_[a].call.answered_at > calls_[b].call.answered_at;
  });
  return next;
}

void Search::Remember(const std::vector<Frame>& path) {
  if (path.size() <= farthest_) {
    return;
  }
  farthest_ = path.size();
  report_ = "of " + std::to_string(calls_.size()) + " calls " + std::to_string(path.size() - 1) +
            " can be put in order, the last of them\n";
  for (size_t i = path.size() > kMostReported ? path.size() - kMostReported : 1; i < path.size();
       i++) {
    report_ += "  " + ToString(calls_[path[i].did].call) + "\n";
  }
  report_ += "and then none of\n";
  for (const size_t next : path.back().next) {
    why_ = "";
    const bool can = !Steps(path.back().state, calls_[next]).empty();
    report_ +=
        "  " + ToString(calls_[next].call) + " (" + (can ? "leads no farther" : why_) + ")\n";
  }
}

LinearVerdict Search::Run() {
  LinearVerdict verdict;
  std::vector<Frame> path;
  path.push_back({{}, 0, Candidates(0), 0, 0, 0, {}});
  size_t deepest = 0;
  while (path.back().first < calls_.size()) {
    if (path.back().next.empty() && path.back().ways.empty()) {
      if (path.size() == 1) {
        return {LinearVerdict::Kind::kNo, report_, verdict.steps};
      }
      done_[path.back().did] = false;
      path.pop_back();
      continue;
    }
    if (++verdict.steps > rules_.most_steps) {
      return {LinearVerdict::Kind::kTooHard,
              "no order was found in " + std::to_string(rules_.most_steps) + " steps; " + report_,
              verdict.steps};
    }
    Frame& last = path.back();
    // Told before a candidate is taken away: all of them stand there.
    if (path.size() > deepest) {
      deepest = path.size();
      const bool stuck = std::none_of(last.next.begin(), last.next.end(), [&](size_t next) {
        return !Steps(last.state, calls_[next]).empty();
      });
      if (stuck) {
        Remember(path);
      }
    }
    if (last.ways.empty()) {
      last.doing = last.next.back();
      last.next.pop_back();
      last.ways = Steps(last.state, calls_[last.doing]);
    }
    if (last.ways.empty()) {
      continue;
    }
    const size_t call = last.doing;
    LinearState state = std::move(last.ways.back());
    last.ways.pop_back();
    done_[call] = true;
    const size_t first = FirstUndone(last.first);
    const size_t top = std::max({last.top, call + 1, first});
    const auto [at, fresh] = seen_.try_emplace(KeyOf(state, first, top, done_), state.now);
    if (!fresh && at->second <= state.now) {
      done_[call] = false;
      continue;
    }
    at->second = state.now;
    path.push_back({std::move(state), first, Candidates(first), call, top, 0, {}});
  }
  return verdict;
}

}  // namespace

LinearVerdict CheckLinear(std::vector<LockCall> calls, const LinearRules& rules) {
  return Search(std::move(calls), rules).Run();
}

std::vector<std::string> NotLinear(const std::vector<LockCall>& calls, const LinearRules& rules) {
  std::map<std::string, std::vector<LockCall>> by_name;
  for (const LockCall& call : calls) {
    by_name[call.name].push_back(call);
  }
  std::vector<std::string> wrong;
  for (auto& [name, all] : by_name) {
    const LinearVerdict verdict = CheckLinear(std::move(all), rules);
    if (verdict.kind != LinearVerdict::Kind::kYes) {
      wrong.push_back(name + ": " + verdict.why);
    }
  }
  return wrong;
}

}  // namespace oncemq::testing
