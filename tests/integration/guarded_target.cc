// SPDX-License-Identifier: Apache-2.0
#include "guarded_target.h"

namespace oncemq::testing {

bool GuardedTarget::Store(uint32_t id, uint32_t member) {
  MutexLock lock(mutex_);
  const FileLock others(file_.fd());
  file_.ReadOn(effects_);
  for (; read_to_ < effects_.size(); read_to_++) {
    const uint32_t stored = effects_[read_to_].id;
    if (stored >= known_.size()) {
      known_.resize(stored + 1);
    }
    known_[stored] = true;
  }
  if (id < known_.size() && known_[id]) {
    return false;
  }
  file_.Append({id, member});
  return true;
}

std::vector<StoredEffect> GuardedTarget::All() {
  MutexLock lock(mutex_);
  file_.ReadOn(effects_);
  return effects_;
}

}  // namespace oncemq::testing
