// SPDX-License-Identifier: Apache-2.0
// Sometimes: the situations that a sweep must have been in. A sweep that never saw one of them has
// proved nothing about it, and fails.
//
// Thread safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "oncemq/dedup/window.h"
#include "oncemq/framework/batch_machine.h"

namespace oncemq::sim {

enum class Situation : uint8_t {
  kClaimInFlight,  // somebody else held the id
  kClaimDuplicate,
  kClaimAttached,
  kClaimConflict,
  kClaimFenced,    // the claimant's ownership was over
  kSecondAttempt,  // an id was granted that had been claimed before: a takeover
  kUncertainGrant,
  kLeaseTakeover,  // taken over because the lease had ended
  kOwnerTakeover,  // taken over by the partition's new owner
  kFencedCompletion,
  kFencedRenewal,
  kReplyLost,         // a call took effect and its reply did not come
  kLateCall,          // a call took effect long after its caller had given up
  kRevokedInHandler,  // a partition was revoked while one of its handlers ran
  kLostInHandler,
  kStaleSettlement,       // a run ended after its assignment had
  kStaleApplied,          // and its handler had its effect
  kReturnedWhileRunning,  // a partition came back while a delivery of its earlier assignment ran
  kCopyInBatch,           // two deliveries of one id in one run
  kCopyWaited,            // a delivery waited for the outcome of another one in the same process
  kRewound,               // the same offset twice in one assignment
  kRewoundUnfinished,     // and the first one was not finished
  kCarried,               // a delivery was finished according to the commit's map
  kCarriedNotDone,        // the same, and the commit says that it is not done
  kMapCut,                // the map did not fit
  kBatchSplit,            // a handler took long, the rest of its run went on without it
  kRetried,
  kRejectJournaled,
  kPassed,         // a message without an id was handled beside the window
  kStopped,        // a policy stopped a partition
  kOwnershipLost,  // the window refused an ownership while commits still worked: start over
  kCommitRefused,
  kCommitUnknown,
  kCommitByOldGeneration,  // refused although the partition was still ours
  kLeaveGroup,             // given back by leaving the group
  kAbandoned,              // the last commit named offsets that still ran
  kDrainedInTime,
  kPastSafeUntil,  // a handler did not start because the right to was about to end
  kZombieEffect,   // an effect landed after its owner had lost the partition
  kCreditExhausted,
  kSpanExhausted,
  kBytesExhausted,
  kOperatorForward,
  kOperatorBackward,
  kForgotten,   // an id was granted again, behind the window
  kStillKnown,  // a copy was suppressed by a small window
  kCaughtUp,    // a new owner took over finished ids from the log
  kCatchUpRepeated,
  kReplayWaited,  // a reader without ownership found the id held
  kReplayRan,
  kRepetitionReported,  // an owner repeated an effect of another process, and was told
  kFollowed,            // a message is parked because an earlier one of its key is
  kRedriven,            // a redriven message ran
  kRefusedAgain,        // and was refused again
  kDropped,             // or given up
  kCrashAtStep,         // one for each of the eight steps
  kCrashAtStepLast = kCrashAtStep + 7,
  kCrashInStep,  // likewise, of the seven that call somebody
  kCrashInStepLast = kCrashInStep + 6,
  kCrashInDrain,
  // Of stores on disk, which the swarm does not have, and the last, which is rare there.
  kStoreHeld,              // another process had it open
  kStoreReopened,          // after a write that failed
  kPowerLossTook,          // something that was not synced
  kStoreRolledBack,        // started below the commit, where the store's effects end
  kStoreNotTheCommits,     // refused: the commit rests on another store
  kStoreEmpty,             // refused: the effects are somewhere else
  kCommitGone,             // refused: no commit, and the store knows the partition
  kForeignAhead,           // refused: an operator's commit beyond the effects
  kStoreCaughtUp,          // ids that the store had lost were read from the log
  kAged,                   // ids were forgotten by log time
  kAgedCopyRan,            // and a copy of one came and ran
  kFreshCopyKnown,         // a copy within the window was suppressed
  kFirstIsNeverOld,        // a first delivery with a stamp below the horizon ran
  kAnnouncedNotCommitted,  // started from a commit below the store's announcement
  kSpoiled,                // a slow handler's effects stood on some that were lost
  kEffectsTogether,        // several messages' effects were written in one batch
  kCleaned,                // records below the commit went from the log
  kIncomplete,             // refused: the log cannot complete the window
  kEffectsGone,            // refused: effects are lost, and messages to have them again may be too
  kWentOnIncomplete,       // the same, and the policy says to go on
  kOvertaken,              // records went from the log while a catch-up was to read them
  kOverdue,                // a catch-up took longer than it may
  kDiedForgetting,         // between two steps of forgetting
  kStoreOfOthers,          // refused: the store belongs to somebody else
  kHolePassed,             // aborted messages alone stood at the end of what was read
  kVoidRecord,             // a former owner's record of a parked message came too late
  kCount,
  kFirstOfStores = kStoreHeld,
};
std::string Describe(Situation situation);

class Sometimes {
 public:
  void Count(Situation situation, bool when = true) {
    counts_[static_cast<size_t>(situation)] += when ? 1 : 0;
  }
  void Saw(ClaimVerdict answer);
  void CrashAt(BatchStep step, bool inside);
  void Add(const Sometimes& other);
  uint64_t count(Situation situation) const { return counts_[static_cast<size_t>(situation)]; }

 private:
  std::array<uint64_t, static_cast<size_t>(Situation::kCount)> counts_{};
};

}  // namespace oncemq::sim
