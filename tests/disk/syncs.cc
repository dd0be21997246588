// SPDX-License-Identifier: Apache-2.0
#include "syncs.h"

#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>

#include "support/power/interpose.h"

namespace oncemq::testing {
namespace {

struct State {
  std::mutex mutex;
  std::condition_variable go;
  bool held = false;      // whoever comes
  bool released = false;  // whoever waits
  int passes = 0;         // so many, then
  int failing = 0;        // so many fail
  int failed = 0;
  int waiting = 0;
};

State& TheState() {
  static auto* const state = new State;  // syncs come until the very end
  return *state;
}

int Sync() {
  State& state = TheState();
  std::unique_lock lock(state.mutex);
  if (state.held) {
    state.waiting++;
    state.go.wait(lock, [&] { return state.released; });
    state.waiting--;
  }
  if (state.failing == 0 || state.passes-- > 0) {
    return 0;
  }
  state.failing--;
  state.failed++;
  errno = EIO;
  return -1;
}

}  // namespace

HeldSyncs::HeldSyncs() {
  const std::lock_guard lock(TheState().mutex);
  TheState().held = true;
  TheState().released = false;
}

HeldSyncs::~HeldSyncs() {
  const std::lock_guard lock(TheState().mutex);
  TheState().held = false;
  TheState().released = true;
  TheState().go.notify_all();
}

void HeldSyncs::LetOthersPass() {
  const std::lock_guard lock(TheState().mutex);
  TheState().held = false;
}

int HeldSyncs::waiting() const {
  const std::lock_guard lock(TheState().mutex);
  return TheState().waiting;
}

FailingSyncs::FailingSyncs(int after, int most) {
  const std::lock_guard lock(TheState().mutex);
  TheState().passes = after;
  TheState().failing = most;
  TheState().failed = 0;
}

FailingSyncs::~FailingSyncs() {
  const std::lock_guard lock(TheState().mutex);
  TheState().failing = 0;
}

int FailingSyncs::failed() const {
  const std::lock_guard lock(TheState().mutex);
  return TheState().failed;
}

}  // namespace oncemq::testing

EXPORTED int fsync(int) {
  return oncemq::testing::Sync();
}
EXPORTED int fdatasync(int) {
  return oncemq::testing::Sync();
}
