// SPDX-License-Identifier: Apache-2.0
// A switch store in memory that several processes of a test share, each through a view of its own.
// A view can be cut off, and its switchboard's thread does a turn only when the test says so.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "oncemq/base/mutex.h"
#include "oncemq/base/switch_store.h"

namespace oncemq::testing {

struct SharedSwitchStore {
  Mutex mutex;
  SwitchStore::Text text GUARDED_BY(mutex);
  std::map<std::string, std::string> words GUARDED_BY(mutex);
};

// Thread safety: as SwitchStore; Turn() by one thread.
class SwitchStoreView final : public SwitchStore {
 public:
  explicit SwitchStoreView(std::shared_ptr<SharedSwitchStore> shared)
      : shared_(std::move(shared)) {}

  void Cut(bool cut) {
    MutexLock lock(mutex_);
    cut_ = cut;
  }
  // From now on, until false is said, nothing but Turn() moves the switchboard's thread, which is
  // there. What it began before is over.
  void OnlyByTurns(bool only) {
    MutexLock lock(mutex_);
    only_by_turns_ = only;
    changed_.notify_all();
    if (only) {
      changed_.wait(mutex_, [&] { return inside_; });
    }
  }
  // What the switchboard's thread does by itself at its start is over.
  void UntilItWaits() {
    MutexLock lock(mutex_);
    changed_.wait(mutex_, [&] { return inside_; });
  }
  // Lets the switchboard's thread go around once, and waits until it has.
  void Turn() {
    MutexLock lock(mutex_);
    changed_.wait(mutex_, [&] { return inside_; });
    const uint64_t before = entered_;
    go_ = true;
    changed_.notify_all();
    changed_.wait(mutex_, [&] { return inside_ && entered_ > before; });
  }

  Result<Text> Read() override {
    if (const Status reached = Reached(); !reached) {
      return reached.error();
    }
    MutexLock lock(shared_->mutex);
    return shared_->text;
  }
  Result<bool> Swap(std::string_view text, uint64_t version) override {
    if (const Status reached = Reached(); !reached) {
      return reached.error();
    }
    MutexLock lock(shared_->mutex);
    if (shared_->text.version != version) {
      return false;
    }
    shared_->text = {std::string(text), version + 1};
    return true;
  }
  Status Await(uint64_t, BootTime, const std::stop_token& stop) override {
    MutexLock lock(mutex_);
    inside_ = true;
    entered_++;
    changed_.notify_all();
    while (!go_ && (only_by_turns_ || !stop.stop_requested())) {
      only_by_turns_
          ? changed_.wait(mutex_)
          : static_cast<void>(changed_.wait(mutex_, stop, [&] { return go_ || only_by_turns_; }));
    }
    inside_ = false;
    go_ = false;
    return {};
  }
  Status Say(std::string_view who, std::string_view word) override {
    if (const Status reached = Reached(); !reached) {
      return reached;
    }
    MutexLock lock(shared_->mutex);
    shared_->words.insert_or_assign(std::string(who), std::string(word));
    return {};
  }
  Result<std::map<std::string, std::string>> Hear() override {
    if (const Status reached = Reached(); !reached) {
      return reached.error();
    }
    MutexLock lock(shared_->mutex);
    return shared_->words;
  }
  Status Bury(std::string_view who) override {
    if (const Status reached = Reached(); !reached) {
      return reached;
    }
    MutexLock lock(shared_->mutex);
    shared_->words.erase(std::string(who));
    return {};
  }

 private:
  Status Reached() {
    MutexLock lock(mutex_);
    if (cut_) {
      return Error{Code::kUnavailable, Effect::kNone, "cut off from the record"};
    }
    return {};
  }

  const std::shared_ptr<SharedSwitchStore> shared_;
  Mutex mutex_;
  ConditionVariable changed_;
  bool cut_ GUARDED_BY(mutex_) = false;
  bool only_by_turns_ GUARDED_BY(mutex_) = false;
  bool inside_ GUARDED_BY(mutex_) = false;
  bool go_ GUARDED_BY(mutex_) = false;
  uint64_t entered_ GUARDED_BY(mutex_) = 0;
};

}  // namespace oncemq::testing
