// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/lock_domain.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "acquire_state.h"
#include "hold.h"
#include "lock_check.h"
#include "oncemq/base/random.h"
#include "oncemq/base/wait_until.h"
#include "watchdog.h"

namespace oncemq {
namespace {

constexpr size_t kLongestWho = 256;
constexpr int kMostRounds = 8;  // of taking all names

std::string HostAndProcess() {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) {
    host[0] = '?';
  }
  return std::string(host.data()) + "/" + std::to_string(getpid());
}

// Leads the tokens of a domain, so that no two domains of any two processes share one.
uint64_t OfThisProcess() {
  return SecureRandom64();
}

LeaseTimes TimesOf(const LockOptions& options, const AcquireOptions& how) {
  const milliseconds lease = how.lease != milliseconds(0) ? how.lease : options.lease;
  const milliseconds margin = options.margin != milliseconds(0) ? options.margin : lease / 10;
  return {lease, margin, how.max_hold, how.ends};
}

}  // namespace

struct LockDomain::Parts {
  std::shared_ptr<LockEngine> engine;
  LockOptions options;
  const Clock& clock;
  std::shared_ptr<Watchdog> watchdog;
  const uint64_t process = OfThisProcess();
  const std::string host_and_process = HostAndProcess();
  std::atomic<uint64_t> attempts{0};
  const std::shared_ptr<LockCounters> counters = std::make_shared<LockCounters>();
  const pid_t pid = getpid();

  LeaseTimes Times(const AcquireOptions& how) const { return TimesOf(options, how); }
  std::string Who(std::string_view what) const {
    std::string who = host_and_process;
    for (const std::string_view more : {std::string_view(options.who), what}) {
      if (!more.empty()) {
        who.append(" ").append(more);
      }
    }
    return who.substr(0, kLongestWho);
  }
  void TakeBack(const AcquireRequest& request) const {
    const LockClaim claim{request.name, request.token};
    Freed freed = Freed::kNotHeld;
    if (!engine->Free({&claim, 1}, {&freed, 1})) {
      watchdog->TakeBack(request.name, request.token, std::max(request.lease, request.queue_lease));
    }
  }
  Result<Granted<Lease>> Drive(AcquireState& state, AcquireRequest& request,
                               const LeaseTimes& times, const AcquireOptions& how,
                               BootTime began) const;
};

LockDomain::LockDomain(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

LockDomain::~LockDomain() {
  if (getpid() != parts_->pid) {
    // Its threads are not here, and its connections and sessions are its parent's: nothing that
    // ends them is safe, so they stay as long as this child.
    static_cast<void>(parts_.release());
    return;
  }
  parts_->watchdog->End();
}

Status CheckLockOptions(const LockOptions& options, const LockCapabilities& can) {
  for (const Status& fit :
       {CheckNeeds(options.needs, can), CheckLockTimes(TimesOf(options, {}), options.queue_lease),
        CheckLease(options.lease, can), CheckPatience(options.patience)}) {
    if (!fit) {
      return fit;
    }
  }
  return {};
}

Result<std::unique_ptr<LockDomain>> LockDomain::Open(std::shared_ptr<LockEngine> engine,
                                                     LockOptions options, const Clock& clock) {
  if (const Status fit = CheckLockOptions(options, engine->capabilities()); !fit) {
    return fit.error();
  }
  auto watchdog = std::make_shared<Watchdog>(engine, clock);
  std::unique_ptr<Parts> parts(
      new Parts{std::move(engine), std::move(options), clock, std::move(watchdog)});
  if (!parts->watchdog->Start()) {
    return Error{Code::kUnavailable, Effect::kNone, "the system gives no threads"};
  }
  return std::unique_ptr<LockDomain>(new LockDomain(std::move(parts)));
}

Result<Granted<Lease>> LockDomain::Acquire(std::string_view name, const AcquireOptions& how) {
  return AcquireOne(name, how, parts_->clock.Boot());
}

Result<Granted<Lease>> LockDomain::AcquireOne(std::string_view name, const AcquireOptions& how,
                                              BootTime began) {
  const LeaseTimes times = parts_->Times(how);
  for (const Status& fit : {CheckLockName(name), CheckLockTimes(times, parts_->options.queue_lease),
                            CheckLease(times.lease, parts_->engine->capabilities()),
                            CheckAcquire(how, parts_->engine->capabilities())}) {
    if (!fit) {
      return fit.error();
    }
  }
  // Two that ask by the same token are one to the store.
  if (getpid() != parts_->pid) {
    return Error{Code::kInvalid, Effect::kNone, "a domain is of no use behind a fork"};
  }
  const Token token{parts_->process, ++parts_->attempts};
  const std::string who = parts_->Who(how.what);
  AcquireRequest request{
      name, token, how.mode, true, how.barge, times.lease, parts_->options.queue_lease, who};
  request.fenced = how.fenced;
  request.limit = how.limit;
  AcquireState state({times, parts_->options.queue_lease, parts_->options.patience, how.wait,
                      how.until, token.process + token.attempt, began},
                     parts_->clock.Boot());
  return parts_->Drive(state, request, times, how, began);
}

Result<Granted<Lease>> LockDomain::Parts::Drive(AcquireState& state, AcquireRequest& request,
                                                const LeaseTimes& times, const AcquireOptions& how,
                                                BootTime began) const {
  using Do = AcquireState::Do;
  for (;;) {
    const BootTime now = clock.Boot();
    const AcquireState::Step step = state.Next(now, how.stop.stop_requested());
    switch (step.what) {
      case Do::kRequest:
        request.queue = step.queue;
        if (const auto answer = engine->Request(request)) {
          state.Answered(*answer, now, clock.Boot());
        } else {
          state.Failed(answer.error(), clock.Boot());
        }
        break;
      case Do::kAwait:
        if (engine->Await(request, step.until, how.stop)) {
          state.AwaitEnded();
        } else {
          state.AwaitFailed();
        }
        break;
      case Do::kPause:
        WaitUntil(step.until, now, how.stop);
        break;
      case Do::kHold: {
        auto hold = std::make_shared<Hold>(watchdog, request.name, request.token, request.mode,
                                           how.fence.value_or(state.fence()), times.lease);
        hold->counters = counters;
        counters->granted++;
        counters->wait.Observe(now - began);
        watchdog->Watch(hold, times, state.requested_at());
        return {Lease(std::move(hold))};
      }
      case Do::kGiveUp:
      case Do::kFail:
        if (state.owes()) {
          TakeBack(request);
        }
        if (step.what == Do::kFail) {
          counters->failed++;
          return state.error();
        }
        counters->not_granted++;
        return {kNotGranted};
    }
  }
}

Result<Granted<Lease>> LockDomain::TryAcquire(std::string_view name, AcquireOptions how) {
  how.until = parts_->clock.Boot();
  return Acquire(name, how);
}

// What was taken goes again, together, if one of them cannot be had.
Result<Granted<std::vector<Lease>>> LockDomain::TakeInTurn(const std::vector<std::string>& names,
                                                           const AcquireOptions& how,
                                                           BootTime began) {
  std::vector<Lease> leases;
  for (const std::string& name : names) {
    auto lease = AcquireOne(name, how, began);
    if (!lease || !*lease) {
      ReleaseAll(std::move(leases));
      return lease ? Result<Granted<std::vector<Lease>>>(kNotGranted) : lease.error();
    }
    leases.push_back(std::move(**lease));
  }
  return {std::move(leases)};
}

Result<Granted<std::vector<Lease>>> LockDomain::AcquireAll(std::span<const std::string> names,
                                                           const AcquireOptions& how) {
  std::vector<std::string> ordered(names.begin(), names.end());
  std::sort(ordered.begin(), ordered.end());
  ordered.erase(std::unique(ordered.begin(), ordered.end()), ordered.end());
  const BootTime began = parts_->clock.Boot();
  for (int round = 0; round < kMostRounds; round++) {
    auto all = TakeInTurn(ordered, how, began);
    const auto lost = [](const Lease& lease) { return !lease.StillMine(); };
    if (!all || !*all || std::none_of((*all)->begin(), (*all)->end(), lost)) {
      return all;
    }
    // One of them went while another one was waited for: none, and again.
    ReleaseAll(std::move(**all));
    const BootTime now = parts_->clock.Boot();
    const bool once = how.until && *how.until <= now;
    const bool spun = how.wait.how == LockWait::How::kSpin && began + how.wait.spin <= now;
    if (once || spun || how.stop.stop_requested()) {
      return {kNotGranted};
    }
  }
  return Error{Code::kTimeout, Effect::kNone,
               "each time one of the names was lost before the last one was had"};
}

LockCounts LockDomain::counts() const {
  return parts_->counters->Read();
}

LockEngine& LockDomain::engine() const {
  return *parts_->engine;
}

const Clock& LockDomain::clock() const {
  return parts_->clock;
}

}  // namespace oncemq
