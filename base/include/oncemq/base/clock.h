// SPDX-License-Identifier: Apache-2.0
// The only way to learn the time. Nothing outside base/ asks the operating system, so that tests
// and the simulator decide what time it is.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace oncemq {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A moment on the boot clock: monotonic, runs on while the machine is suspended, restarts with the
// machine. Leases and deadlines are counted on it, never on wall time.
using BootTime = std::chrono::time_point<std::chrono::steady_clock, microseconds>;

// A moment in wall time, microseconds since 1970. Only for stamps that people or other machines
// read.
struct WallTime {
  int64_t micros = 0;
  friend auto operator<=>(const WallTime&, const WallTime&) = default;
};

// Thread safety: implementations may be used from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual BootTime Boot() const = 0;
  virtual WallTime Wall() const = 0;
  // Cheap: as long as it is the same, Boot() has moved on by 10 ms at most.
  virtual int64_t Tick() const { return Boot().time_since_epoch().count(); }
};

class SystemClock final : public Clock {
 public:
  BootTime Boot() const override;
  WallTime Wall() const override;
  int64_t Tick() const override;
  static const SystemClock& Instance();
};

inline BootTime BootNow() {
  return SystemClock::Instance().Boot();
}

// A clock that moves only when told. Shipped with the library: users test their handlers with it
// too.
class ManualClock final : public Clock {
 public:
  BootTime Boot() const override { return BootTime(microseconds(boot_.load())); }
  WallTime Wall() const override { return WallTime{wall_.load()}; }
  void Advance(microseconds by) {
    boot_ += by.count();
    wall_ += by.count();
  }
  // Wall time may jump either way; the boot clock may not.
  void JumpWall(microseconds by) { wall_ += by.count(); }

 private:
  std::atomic<int64_t> boot_{1'000'000};
  std::atomic<int64_t> wall_{1'700'000'000'000'000};
};

// Blocks the calling thread. For shells that wait for a backend to come back; never for
// synchronisation.
void SleepFor(milliseconds duration);

}  // namespace oncemq
