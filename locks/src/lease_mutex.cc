// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/lease_mutex.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "oncemq/base/log.h"
#include "oncemq/base/mutant.h"
#include "oncemq/base/mutex.h"

namespace oncemq {
namespace {

// Whoever waits longer waits as long as it takes.
constexpr microseconds kForEver = std::chrono::hours(24 * 365 * 100);

std::errc AsErrc(Code code) {
  switch (code) {
    case Code::kInvalid:
      return std::errc::invalid_argument;
    case Code::kTimeout:
      return std::errc::timed_out;
    case Code::kFull:
      return std::errc::no_buffer_space;
    case Code::kFenced:
    case Code::kNotFound:
      return std::errc::owner_dead;
    case Code::kUnavailable:
    case Code::kCorrupt:
    case Code::kInternal:
      return std::errc::io_error;
  }
  return std::errc::io_error;
}

[[noreturn]] void Throw(std::errc code, const std::string& what) {
  throw std::system_error(std::make_error_code(code), what);
}

}  // namespace

struct LeaseMutex::Held {
  Lease lease;
  uint32_t depth = 1;
  // With kTerminate. Behind the lease, so that it goes first.
  std::optional<std::stop_callback<std::function<void()>>> end_process;
};

struct LeaseMutex::Parts {
  LockDomain& domain;
  const std::string name;
  const LeaseMutexOptions options;
  const bool reentrant;
  Mutex mutex;
  // Nodes of a map stay where they are, and only their own thread touches them.
  std::map<std::thread::id, Held> held GUARDED_BY(mutex);
};

LeaseMutex::LeaseMutex(LockDomain& domain, std::string name, LeaseMutexOptions options)
    : LeaseMutex(domain, std::move(name), std::move(options), false) {}

LeaseMutex::LeaseMutex(LockDomain& domain, std::string name, LeaseMutexOptions options,
                       bool reentrant)
    : parts_(new Parts{domain, std::move(name), std::move(options), reentrant, {}, {}}) {}

LeaseMutex::~LeaseMutex() = default;

bool LeaseMutex::Take(LockMode mode, std::optional<microseconds> within) {
  const std::thread::id me = std::this_thread::get_id();
  {
    MutexLock lock(parts_->mutex);
    if (const auto at = parts_->held.find(me); at != parts_->held.end()) {
      if (!parts_->reentrant) {
        Throw(std::errc::resource_deadlock_would_occur, parts_->name + ": this thread holds it");
      }
      if (!at->second.lease.StillMine() && !ONCEMQ_MUTANT("lost-lease-entered-again")) {
        Throw(std::errc::owner_dead, parts_->name + ": the lease was lost");
      }
      at->second.depth++;
      return true;
    }
  }
  AcquireOptions how{.mode = mode,
                     .wait = parts_->options.wait,
                     .barge = parts_->options.barge,
                     .lease = parts_->options.lease,
                     .max_hold = parts_->options.max_hold,
                     .what = parts_->options.what};
  if (within) {
    how.until = parts_->domain.clock().Boot() + std::min(*within, kForEver);
  }
  auto lease = parts_->domain.Acquire(parts_->name, how);
  if (!lease) {
    Throw(AsErrc(lease.error().code), parts_->name + ": " + ToString(lease.error()));
  }
  if (!*lease) {
    return false;
  }
  MutexLock lock(parts_->mutex);
  Held& held = parts_->held[me];
  held.lease = std::move(**lease);
  if (parts_->options.on_lost == OnLost::kTerminate) {
    held.end_process.emplace(held.lease.stop(), [name = parts_->name] {
      Log(LogLevel::kError, "locks", "the process ends, because a lease was lost",
          {{"name", name}});
      StopLogging();
      std::terminate();
    });
  }
  return true;
}

void LeaseMutex::GiveBack() {
  std::map<std::thread::id, Held>::node_type gone;
  {
    MutexLock lock(parts_->mutex);
    const auto at = parts_->held.find(std::this_thread::get_id());
    if (at == parts_->held.end() || --at->second.depth > 0) {
      return;
    }
    gone = parts_->held.extract(at);
  }
  const Lost lost = gone.mapped().lease.lost();
  if (gone.mapped().lease.Release() != Released::kYes) {
    Log(LogLevel::kWarn, "locks", "what is unlocked was not held any more",
        {{"name", parts_->name}, {"why", ToString(lost)}});
  }
}

Lease& LeaseMutex::lease() {
  Held& held = Mine();
  if (parts_->options.on_lost == OnLost::kThrow && !held.lease.StillMine()) {
    Throw(std::errc::owner_dead,
          parts_->name + ": the lease was lost: " + std::string(ToString(held.lease.lost())));
  }
  return held.lease;
}

LeaseMutex::Held& LeaseMutex::Mine() {
  MutexLock lock(parts_->mutex);
  const auto at = parts_->held.find(std::this_thread::get_id());
  if (at == parts_->held.end()) {
    Throw(std::errc::operation_not_permitted, parts_->name + ": this thread does not hold it");
  }
  return at->second;
}

}  // namespace oncemq
