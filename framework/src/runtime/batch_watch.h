// SPDX-License-Identifier: Apache-2.0
// BatchWatch: what other threads may know and say about a batch while its handlers are called, and
// who owns the batch's thread when a handler does not return.
//
// Thread safety: any thread; the driver's part is marked.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "message_locks.h"
#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"
#include "oncemq/framework/batch_machine.h"

namespace oncemq {

class BatchWatch {
 public:
  // What handlers of the batch lock ends with their right to run, if the assignment stands in for
  // it.
  explicit BatchWatch(MessageLocks* names = nullptr) : names_(names) {}

  enum class Ended : uint8_t {
    kOurs,       // go on with the batch
    kAbandoned,  // the runtime has ended without us: touch nothing any more
  };

  // --- the driver
  // `machine` is at its handle step and stays there until EndHandling.
  void BeginHandling(BatchMachine& machine, BootTime now);
  Ended EndHandling();
  // Around the call that completes what is done: `machine` stays as it is meanwhile.
  void BeginCompleting(BatchMachine& machine);
  void EndCompleting();
  // Around each call of the handler. Inside, the machine may be changed by SettleOthers().
  void Enter() {
    calls_.store(calls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    gate_.store(Gate::kInside, std::memory_order_release);
  }
  void Leave() {
    Gate inside = Gate::kInside;
    if (!gate_.compare_exchange_strong(inside, Gate::kOutside, std::memory_order_acquire))
        [[unlikely]] {
      AwaitChange();
    }
  }
  // Whether handlers should be interrupted between two messages.
  bool stop_handling() const { return stop_handling_.load(std::memory_order_relaxed); }
  const std::stop_token& stop() const { return stop_token_; }
  // Before a batch starts. `stop_at`: until when its partition is surely ours.
  void Reset(bool on_poll_thread, BootTime stop_at);
  // The batch is settled: there is nothing to watch any more.
  void End();

  // --- everybody else
  // No more handler calls in this batch after the present one.
  void StopHandling() { stop_handling_.store(true, std::memory_order_relaxed); }
  // Whether the batch that `source` belongs to is still there and was not told to stop before. If
  // so, it counts as told: the caller requests the stop.
  bool NotifyStop(const std::stop_source& source);
  // It could not be requested.
  void StopFailed(const std::stop_source& source);
  void SetStopAt(BootTime stop_at);
  // True: its handlers are being called, and it is not the poll thread's batch any more. At most
  // once a batch.
  bool Demote(BootTime now, microseconds budget);
  bool demoted() const;
  // If one and the same call has been going on for `budget`: then the batch's other messages are
  // settled here, once a batch, and it is about that one message only. To be asked now and then.
  bool SettleOthers(BootTime now, microseconds budget, std::vector<Settlement>& settled);
  // True if one and the same call has been going on for `that_long`.
  bool Hangs(BootTime now, microseconds that_long);
  // True: a handler is being called, and whenever it returns, its thread only ends.
  bool Abandon();

  struct Due {
    // Between Reset() and End(): also before its first handler, since the claims that come first
    // may take longer than any look.
    bool under_way = false;
    bool stop_due = false;  // its time has come, and it was not told
    std::stop_source stop{std::nostopstate};
    std::vector<HeldClaim> renew;  // now
  };
  Due Tick(BootTime now, microseconds renew_every);
  // A renewal of the last Tick() failed: the next one is due by so much earlier.
  void NotRenewed(microseconds sooner);

 private:
  enum class Phase : uint8_t { kOutside, kHandling, kCompleting, kAbandoned };
  enum class Gate : uint8_t { kOutside, kInside, kChanging, kChanged };
  void AwaitChange();
  void ObserveCall(BootTime now) REQUIRES(mutex_);
  void EndNamesAt(BootTime at) REQUIRES(mutex_);

  MessageLocks* const names_;
  std::atomic<Gate> gate_{Gate::kOutside};  // whose the machine is, while a handler is called
  std::atomic<uint32_t> calls_{0};
  std::atomic<bool> stop_handling_{false};
  mutable Mutex mutex_;
  std::stop_source stop_source_ GUARDED_BY(mutex_);
  std::stop_token stop_token_ = stop_source_.get_token();  // changes between batches only
  bool under_way_ GUARDED_BY(mutex_) = false;
  Phase phase_ GUARDED_BY(mutex_) = Phase::kOutside;
  BatchMachine* machine_ GUARDED_BY(mutex_) = nullptr;
  bool others_settled_ GUARDED_BY(mutex_) = false;  // the others are settled
  uint32_t seen_calls_ GUARDED_BY(mutex_) = 0;
  BootTime seen_at_ GUARDED_BY(mutex_);  // when the present call was first seen
  BootTime began_ GUARDED_BY(mutex_);
  BootTime renewed_ GUARDED_BY(mutex_);
  BootTime stop_at_ GUARDED_BY(mutex_) = BootTime::max();
  bool stop_notified_ GUARDED_BY(mutex_) = false;
  bool on_poll_thread_ GUARDED_BY(mutex_) = false;
  bool demoted_ GUARDED_BY(mutex_) = false;
};

}  // namespace oncemq
