// SPDX-License-Identifier: Apache-2.0
// SwitchedStore: one of the stores of a switchboard. Opened when it is first needed; what its calls
// come to is told to the switchboard, which lets none through while the store keeps failing.
// A call takes as long as one of the engine's, and one opening, at most: of those who need the
// store to be opened one opens it, and the others take what comes of that.
//
// Thread safety: any thread.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "oncemq/base/mutex.h"
#include "oncemq/base/outage.h"
#include "oncemq/base/random.h"
#include "oncemq/base/switchboard.h"
#include "oncemq/locks/hold_listeners.h"
#include "oncemq/locks/switched_locks.h"

namespace oncemq {

class SwitchedStore {
 public:
  // What its engine doubts is passed on.
  SwitchedStore(NamedLocks named, HoldListeners& listeners)
      : named_(std::move(named)), listeners_(listeners) {}
  ~SwitchedStore();
  SwitchedStore(const SwitchedStore&) = delete;
  SwitchedStore& operator=(const SwitchedStore&) = delete;

  const std::string& name() const { return named_.name; }
  const LockCapabilities& can() const { return named_.capabilities; }

  // `call` is given the engine and returns a Result.
  template <class Call>
  auto Do(Switchboard& board, const Call& call) -> decltype(call(std::declval<LockEngine&>())) {
    if (!board.Lets(name())) {
      return Error{Code::kUnavailable, Effect::kNone,
                   "the store " + name() + " keeps failing; it is asked now and then"};
    }
    const auto engine = Engine();
    if (!engine) {
      board.Report(name(), !IsTransient(engine.error()));
      return engine.error();
    }
    auto answer = call(**engine);
    board.Report(name(), answer.has_value() || !IsTransient(answer.error()));
    return answer;
  }
  // That a wait is over says nothing of the store: it may not have been asked.
  Status Await(Switchboard& board, const AcquireRequest& request, BootTime until,
               const std::stop_token& stop);
  // Past the switchboard, which may not be there yet, or asks for itself.
  Result<uint32_t> Seal(uint32_t epoch);
  Status Answers();
  // Whether names are to be had there: takes one of ours for a moment. A store that still reads and
  // writes no more answers every other question. One asks at a time, and the others wait for it.
  Status Grants(LockEngine& engine);
  // How many wait for whoever opens it.
  size_t waiting() const;

 private:
  using Opened = Result<std::shared_ptr<LockEngine>>;
  using Opening = std::optional<Opened>;  // none: nothing came of it yet
  Opened Engine();
  Status Question(LockEngine& engine);

  const NamedLocks named_;
  HoldListeners& listeners_;
  const Token probe_token_{SecureRandom64(),
                           1};      // one for all questions: a lost reply leaves no other
  Mutex questions_;                 // held while one is asked
  std::atomic<uint32_t> epoch_{0};  // in which it was asked last
  mutable Mutex mutex_;
  ConditionVariable opened_;
  std::shared_ptr<LockEngine> engine_ GUARDED_BY(mutex_);
  std::shared_ptr<Opening> opening_ GUARDED_BY(mutex_);  // none: nobody opens it
  size_t waiting_ GUARDED_BY(mutex_) = 0;
};

}  // namespace oncemq
