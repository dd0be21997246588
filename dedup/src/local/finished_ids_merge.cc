// SPDX-License-Identifier: Apache-2.0
// The thread that merges old buckets (docs/adr/0011). It has the caller's lock for moments only.
#include <sys/resource.h>

#include <algorithm>
#include <mutex>
#include <system_error>
#include <utility>

#include "finished_ids.h"
#include "oncemq/base/check.h"
#include "oncemq/base/log.h"

namespace oncemq {
namespace {

// Of this process: a host with a thousand partitions merges one at a time.
std::mutex& Turn() {
  static std::mutex turn;
  return turn;
}

// Of the calling thread alone, on Linux.
void LowerPriority() {
  constexpr int kNice = 10;
  static_cast<void>(setpriority(PRIO_PROCESS, 0, kNice));
}

}  // namespace

// Whoever finds the turn taken asks again behind the next generation.
void FinishedIds::MergeIfMany() {
  if (closing_ || pause_left_ > 0 || history_.buckets() <= rules_.few) {
    return;
  }
  if (merging_) {
    merge_again_ = true;
    return;
  }
  if (merger_.joinable()) {
    merger_.join();  // the former one, which has ended
  }
  merging_ = true;
  try {
    merger_ = std::thread([this] { MergeAll(); });
  } catch (const std::system_error&) {
    merging_ = false;  // fewer threads, more buckets: until the next generation
  }
}

void FinishedIds::MergeAll() {
  LowerPriority();
  while (!MergeInTurn()) {
  }
}

// False: there may be more by now.
bool FinishedIds::MergeInTurn() {
  Merged last = Merged::kNone;
  bool ours = false;
  if (const std::unique_lock turn(Turn(), std::try_to_lock); turn.owns_lock()) {
    ours = true;
    do {
      last = MergeOne();
    } while (last == Merged::kOne);
  }
  MutexLock lock(mutex_);
  // Between the last choice and this moment a busy machine may have put many generations away.
  if (std::exchange(merge_again_, false) && ours && last == Merged::kNone && !closing_) {
    return false;
  }
  constexpr uint32_t kLongestPause = 32;
  pause_ = last == Merged::kFailed ? std::clamp(pause_ * 2, 1u, kLongestPause) : 0;
  pause_left_ = pause_;
  failed_merges_ += last == Merged::kFailed ? 1 : 0;
  ONCEMQ_CHECK(merging_, "one merge is under way at a time");
  merging_ = false;
  frozen_gone_.notify_all();
  return true;
}

FinishedIds::Merged FinishedIds::MergeOne() {
  std::optional<History::Merge> merge;
  {
    MutexLock lock(mutex_);
    merge = closing_ ? std::nullopt : history_.ChooseMerge(rules_);
  }
  if (!merge) {
    return Merged::kNone;
  }
  Result<Bucket> merged = history_.WriteMerged(*merge, hasher_, closing_);
  bool complete = false;
  {
    MutexLock lock(mutex_);
    complete = merged ? history_.TakeFor(*merge) : history_.IsComplete(*merge);
  }
  if (!merged || !complete) {
    static_cast<void>(history_.DropPages(merge->number));  // or the next opening does
    // What fails on buckets that are being forgotten has not failed.
    return !complete ? Merged::kOne : closing_ ? Merged::kNone : Failed(merged.error());
  }
  if (const Status known = history_.WriteMergedFacts(*merge, *merged); !known) {
    return Failed(known.error());  // the store refuses what comes, until it is opened again
  }
  {
    MutexLock lock(mutex_);
    history_.Replace(*merge, *std::move(merged));
  }
  const Status dropped = history_.DropPages(*merge);
  return dropped ? Merged::kOne : Failed(dropped.error());
}

FinishedIds::Merged FinishedIds::Failed(const Error& error) {
  Log(LogLevel::kWarn, "window", "old buckets cannot be merged now", {{"error", ToString(error)}});
  return Merged::kFailed;
}

}  // namespace oncemq
