// SPDX-License-Identifier: Apache-2.0
#include "syncs.h"

#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>

#include "fault.h"
#include "support/power/interpose.h"

namespace oncemq::testing {
namespace {

struct State {
  std::mutex mutex;
  std::condition_variable go;
  bool held = false;      // whoever comes
  bool released = false;  // whoever waits
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
  return OfSyncs().Meets(EIO) ? -1 : 0;
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

}  // namespace oncemq::testing

EXPORTED int fsync(int) {
  return oncemq::testing::Sync();
}
EXPORTED int fdatasync(int) {
  return oncemq::testing::Sync();
}
