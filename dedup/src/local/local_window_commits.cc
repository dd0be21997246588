// SPDX-License-Identifier: Apache-2.0
// What a window on disk is told of commits: those that are to be sent, and those that were; and
// what it forgets then.
#include <algorithm>
#include <system_error>

#include "../window_check.h"
#include "families.h"
#include "known_row.h"
#include "local_window_engine.h"
#include "oncemq/base/check.h"
#include "sealed_row.h"

namespace oncemq {

Status LocalWindow::Announce(std::span<const Announcement> announcements) {
  if (Status fit = CheckAnnouncements(announcements); !fit) {
    return fit;
  }
  {
    MutexLock lock(mutex_);
    if (Status usable = Usable(); !usable) {
      return usable;
    }
    bool changed = false;
    for (const Announcement& one : announcements) {
      if (!one.commits) {
        continue;
      }
      changed = true;
      batch_.Put(kFacts, PartitionKey(kKnownPrefix, one.source, one.partition), EncodeKnown(one));
    }
    if (Status written = changed ? WriteNow(/*sync=*/false) : Status(); !written) {
      return written;
    }
  }
  // A record elsewhere cannot go back with the store.
  const bool is_record = !announcements.empty() && !announcements[0].commits;
  const bool waits = is_record || options_.sync != SyncWhen::kNever;
  // Claims go on meanwhile. Who reads the row before it is synced is of this process, and each of
  // its own commits is announced, and so synced, behind it.
  Status kept = waits ? store_->Sync() : Status();
  if (kept) {
    kept = store_->CheckPlace();
  }
  if (!kept) {
    MutexLock lock(mutex_);
    Fail(kept);
  }
  return kept;
}

Result<StoreKnowledge> LocalWindow::KnownOf(uint32_t source, int32_t partition) {
  MutexLock lock(mutex_);
  StoreKnowledge known;
  const auto row = store_->Get(kFacts, PartitionKey(kKnownPrefix, source, partition));
  if (!row) {
    return row.error();
  }
  if (*row) {
    auto read = DecodeKnown(**row);
    if (!read) {
      return InStore(options_.directory, {Code::kCorrupt, Effect::kNone,
                                          "what is known of a partition cannot be read"});
    }
    known = *std::move(read);
  }
  known.incarnation = manifest_.incarnation;
  known.earlier = manifest_.earlier;
  return known;
}

Status LocalWindow::Committed(std::span<const Progress> progress, std::span<MarkerChange> answers) {
  if (Status fit = CheckProgress(progress, answers.size()); !fit) {
    return fit;
  }
  MutexLock lock(mutex_);
  if (Status usable = Usable(); !usable) {
    return usable;
  }
  const LogTime now = WallLogTime();
  for (size_t i = 0; i < progress.size(); i++) {
    Progress one = progress[i];
    const OwnerRecord* owner = engine_.owners().Find({one.source, one.partition, one.frontier});
    const bool holds = one.owner_epoch != 0 && OwnershipHolds(one.owner_epoch, owner);
    answers[i] = holds ? MarkerChange::kMade : MarkerChange::kFenced;
    if (holds) {
      // A stamp of the future must not make everything look old (rule 22).
      one.watermark = one.watermark == kNoLogTime
                          ? kNoLogTime
                          : std::clamp(one.watermark, LogTime(milliseconds(0)), now);
      progress_.Note(one);
      if (manifest_.LastCommitOf(one.incarnation)) {
        PutManifest(manifest_, batch_);
      }
      batch_.Put(kFacts, PartitionKey(kProgressPrefix, one.source, one.partition),
                 ProgressTable::RowOf(one));
    }
  }
  // Not synced: older progress only makes it remember more.
  if (Status written = WriteNow(/*sync=*/false); !written) {
    return written;
  }
  // A store at rest has no other occasion, and commits come for it too.
  if (Status put_away = ids_.PutAwayExcess(); !put_away) {
    Fail(put_away);
    return Error{put_away.error().code, Effect::kUnknown, put_away.error().message};
  }
  ForgetAged();
  return {};
}

// One at a time: what ages meanwhile goes with a later commit.
void LocalWindow::ForgetAged() {
  const auto watermark = progress_.Watermark();
  if (!watermark || forgetting_) {
    return;
  }
  const History::Aged aged =
      ids_.TakeAged(*watermark - options_.remember - options_.skew, progress_);
  if (aged.buckets.empty()) {
    return;
  }
  const LogTime horizon = std::max(finished_.horizon(), aged.newest + milliseconds(1));
  if (forgetter_.joinable()) {
    forgetter_.join();  // the former one, which has ended
  }
  forgetting_ = true;
  try {
    forgetter_ = std::thread([this, ids = &ids_, aged, horizon] { Forget(*ids, aged, horizon); });
  } catch (const std::system_error&) {
    mutex_.unlock();
    Forget(ids_, aged, horizon);
    mutex_.lock();
  }
}

// First the horizon, durably and in one with what the store knows of the buckets; then the window
// knows them no more; then their pages go (rule 26). An id that is gone must never look new because
// it is unknown.
void LocalWindow::Forget(FinishedIds& ids, const History::Aged& aged, LogTime horizon) {
  RocksBatch batch = store_->NewBatch();
  batch.Put(kFacts, kHorizonKey,
            SealNumbers({static_cast<uint64_t>(horizon.time_since_epoch().count())}));
  Status gone = ids.ForgetFacts(aged, batch);
  if (gone) {
    MutexLock lock(mutex_);
    finished_.set_horizon(horizon);
    ids.ForgetBuckets(aged);
  }
  gone = gone ? ids.DropPages(aged) : gone;
  MutexLock lock(mutex_);
  if (!gone) {
    Fail(gone);
  }
  ONCEMQ_CHECK(forgetting_, "one thread forgets at a time");
  forgetting_ = false;
  forgotten_.notify_all();
}

}  // namespace oncemq
