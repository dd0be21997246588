// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/store_login.h"

#include <algorithm>

#include "oncemq/base/log.h"

namespace oncemq {
namespace {

constexpr microseconds kFirstPause{1'000'000};
constexpr microseconds kLongestPause{30'000'000};
constexpr microseconds kReadEvery{1'000'000};
constexpr microseconds kWantedFor{60'000'000};

struct Logins {
  Mutex mutex;
  std::vector<std::shared_ptr<StoreLogin>> all GUARDED_BY(mutex);
};

// Never destroyed: threads of a program may outlive its main().
Logins& LoginsOfProcess() {
  static Logins* const logins = new Logins;
  return *logins;
}

}  // namespace

// A refusal outlives its client, so that a program that opens a store again and again is slowed
// down, too.
std::shared_ptr<StoreLogin> StoreLogin::Of(const std::string& server, const UserAndPassword& who,
                                           const ReadLogin& read_again) {
  Logins& logins = LoginsOfProcess();
  MutexLock lock(logins.mutex);
  std::erase_if(logins.all, [](const std::shared_ptr<StoreLogin>& one) {
    return one.use_count() == 1 && !one->Refusal();
  });
  for (const auto& one : logins.all) {
    if (one->server_ == server && one->first_ == who) {
      MutexLock its_lock(one->mutex_);
      if (!one->read_again_) {
        one->read_again_ = read_again;
      }
      return one;
    }
  }
  return logins.all.emplace_back(std::make_shared<StoreLogin>(server, who, read_again));
}

std::vector<std::string> StoreLogin::Refusals() {
  Logins& logins = LoginsOfProcess();
  MutexLock lock(logins.mutex);
  std::vector<std::string> refusals;
  for (const auto& one : logins.all) {
    if (auto refusal = one->Refusal()) {
      refusals.push_back(*std::move(refusal));
    }
  }
  return refusals;
}

std::optional<std::string> StoreLogin::Refusal() {
  MutexLock lock(mutex_);
  if (!refusal_ || clock_.Boot() >= wanted_at_ + kWantedFor) {
    return std::nullopt;
  }
  return server_ + " refuses the login: " + refusal_->message;
}

// An attempt that has waited for another one needs no turn of its own: that one was let in, or met
// no server that could refuse it.
std::optional<Error> StoreLogin::Begin(BootTime until, Attempt& attempt) {
  MutexLock lock(mutex_);
  wanted_at_ = clock_.Boot();
  bool finds = true;
  while (finding_ && !refusal_) {
    const BootTime now = clock_.Boot();
    if (now >= until) {
      return Error{Code::kTimeout, Effect::kNone,
                   "another connection to " + server_ + " is logging in"};
    }
    changed_.wait_for(mutex_, until - now);
    finds = false;
  }
  if (refusal_) {
    const BootTime now = clock_.Boot();
    const bool due = now >= next_;
    if (finding_ || (!due && !MayRead(now))) {
      return refusal_;
    }
    finds = finding_ = true;
    if (MayRead(now) && ReadsOthers()) {
      refusal_.reset();
      pause_ = microseconds(0);
    } else if (!due && refusal_) {
      StopFinding();
      return refusal_;
    }
  }
  attempt = {who_, finds};
  finding_ = finding_ || finds;
  return std::nullopt;
}

bool StoreLogin::TriesAgain(Attempt& attempt, const Error* failure) {
  MutexLock lock(mutex_);
  const bool in_force = attempt.who == who_;
  const bool refused = failure != nullptr && failure->code == Code::kRefused;
  if (refused && in_force) {
    if (attempt.finds && MayRead(clock_.Boot()) && ReadsOthers()) {
      refusal_.reset();
      pause_ = microseconds(0);
      attempt.who = who_;
      return true;
    }
    Refuse(*failure);
  } else if (in_force && (failure == nullptr || attempt.finds)) {
    refusal_.reset();  // after an outage the server is asked as after any outage
    pause_ = failure == nullptr ? microseconds(0) : pause_;
  }
  if (attempt.finds) {
    StopFinding();
  }
  return false;
}

void StoreLogin::StopFinding() {
  finding_ = false;
  changed_.notify_all();
}

bool StoreLogin::MayRead(BootTime now) const {
  return read_again_ && (!read_at_ || now >= *read_at_ + kReadEvery);
}

// The file system is asked without the lock.
bool StoreLogin::ReadsOthers() {
  read_at_ = clock_.Boot();
  const ReadLogin read_again = read_again_;
  mutex_.unlock();
  const Result<UserAndPassword> read = read_again();
  mutex_.lock();
  if (!read) {
    // With the reason: lines that differ in it are not alike.
    LogSeldom(LogLevel::kWarn, "login",
              "user and password cannot be read again: " + read.error().message,
              {{"server", server_}});
    return false;
  }
  if (*read == who_) {
    return false;
  }
  who_ = *read;
  Log(LogLevel::kInfo, "login", "user and password were read again", {{"server", server_}});
  return true;
}

void StoreLogin::Refuse(const Error& why) {
  // Attempts that were under way together are one.
  const bool counted = refusal_ && clock_.Boot() < next_;
  if (!counted) {
    pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
    next_ = clock_.Boot() + pause_;
  }
  refusal_ = why;
}

}  // namespace oncemq
