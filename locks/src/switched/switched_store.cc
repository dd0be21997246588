// SPDX-License-Identifier: Apache-2.0
#include "switched_store.h"

namespace oncemq {

SwitchedStore::~SwitchedStore() {
  MutexLock lock(mutex_);
  if (engine_ != nullptr) {
    engine_->Unlisten(doubts_);
  }
}

SwitchedStore::Opened SwitchedStore::Engine() {
  const auto mine = std::make_shared<Opening>();
  {
    MutexLock lock(mutex_);
    if (engine_ != nullptr) {
      return engine_;
    }
    if (const auto other = opening_) {
      waiting_++;
      opened_.wait(mutex_, [&] { return other->has_value(); });
      waiting_--;
      return **other;
    }
    opening_ = mine;
  }
  const Opened opened = named_.open();
  MutexLock lock(mutex_);
  *mine = opened;
  if (opened) {
    engine_ = *opened;
    engine_->Listen(doubts_);
  }
  opening_.reset();
  opened_.notify_all();
  return opened;
}

Result<uint32_t> SwitchedStore::Seal(uint32_t epoch) {
  const auto engine = Engine();
  return engine ? (*engine)->Seal(epoch) : engine.error();
}

// By a question that every store can answer.
Status SwitchedStore::Answers() {
  const auto engine = Engine();
  if (!engine) {
    return engine.error();
  }
  const auto seen = (*engine)->Look("oncemq");
  return seen ? Status() : Status(seen.error());
}

size_t SwitchedStore::waiting() const {
  MutexLock lock(mutex_);
  return waiting_;
}

}  // namespace oncemq
