// SPDX-License-Identifier: Apache-2.0
#include "sometimes.h"

namespace oncemq::sim {
namespace {

constexpr std::string_view kSteps[] = {"restore",  "claim",   "release", "handle",
                                       "complete", "journal", "park",    "settled"};

constexpr std::string_view kNames[] = {"claim in flight",
                                       "claim duplicate",
                                       "claim attached",
                                       "claim conflict",
                                       "claim fenced",
                                       "second attempt",
                                       "uncertain grant",
                                       "takeover by lease",
                                       "takeover by ownership",
                                       "fenced completion",
                                       "fenced renewal",
                                       "reply lost after it took effect",
                                       "call that took effect late",
                                       "revoked in a handler",
                                       "lost in a handler",
                                       "stale settlement",
                                       "stale settlement with an effect",
                                       "partition returned while it ran",
                                       "copy in one run",
                                       "copy waited in the process",
                                       "same offset twice",
                                       "same offset twice, first one unfinished",
                                       "carried by the map",
                                       "carried as not done",
                                       "map cut",
                                       "run split",
                                       "retry",
                                       "reject journaled",
                                       "passed without an id",
                                       "partition stopped by policy",
                                       "own lost, start over",
                                       "commit refused",
                                       "commit unknown",
                                       "commit of an old generation, partition kept",
                                       "given back by leaving the group",
                                       "offsets abandoned",
                                       "drained in time",
                                       "handler not started past safe_until",
                                       "effect of a former owner",
                                       "credit exhausted",
                                       "span exhausted",
                                       "bytes exhausted",
                                       "operator reset forward",
                                       "operator reset backward",
                                       "forgotten behind the window",
                                       "known to a small window",
                                       "caught up from the log",
                                       "catch-up asked again",
                                       "a replay waited",
                                       "a replay ran",
                                       "a repeated effect of another process told",
                                       "parked behind an earlier one",
                                       "redriven",
                                       "refused again",
                                       "dropped"};
constexpr std::string_view kStoreNames[] = {"store held by another process",
                                            "store opened again after a failed write",
                                            "power loss took something",
                                            "started where the store's effects end",
                                            "refused: the commit rests on another store",
                                            "refused: the store is empty",
                                            "refused: no commit",
                                            "refused: a foreign commit ahead",
                                            "store caught up from the log",
                                            "forgotten by log time",
                                            "a copy beyond the window ran",
                                            "a copy within the window was known",
                                            "a first delivery below the horizon ran",
                                            "announced, and its commit never landed",
                                            "effects of a slow handler spoiled",
                                            "effects of several messages in one batch",
                                            "records below the commit went from the log",
                                            "refused: the window would be incomplete",
                                            "refused: lost effects whose messages may be gone",
                                            "went on with an incomplete window",
                                            "retention overtook a catch-up",
                                            "a catch-up took too long",
                                            "died while ids were forgotten",
                                            "refused: the store of somebody else",
                                            "passed a hole at the end",
                                            "void record of a former owner"};
static_assert(std::size(kStoreNames) == static_cast<size_t>(Situation::kCount) -
                                            static_cast<size_t>(Situation::kFirstOfStores));
static_assert(std::size(kNames) == static_cast<size_t>(Situation::kCrashAtStep));

}  // namespace

std::string Describe(Situation situation) {
  const auto index = static_cast<size_t>(situation);
  if (situation == Situation::kCrashInDrain) {
    return "crash while draining";
  }
  if (situation >= Situation::kFirstOfStores) {
    return std::string(kStoreNames[index - static_cast<size_t>(Situation::kFirstOfStores)]);
  }
  if (situation >= Situation::kCrashInStep) {
    return "crash in step " +
           std::string(kSteps[index - static_cast<size_t>(Situation::kCrashInStep)]);
  }
  if (situation >= Situation::kCrashAtStep) {
    return "crash at step " +
           std::string(kSteps[index - static_cast<size_t>(Situation::kCrashAtStep)]);
  }
  return std::string(kNames[index]);
}

void Sometimes::Saw(ClaimVerdict answer) {
  Count(Situation::kClaimInFlight, answer == ClaimVerdict::kInFlight);
  Count(Situation::kClaimDuplicate, answer == ClaimVerdict::kDuplicate);
  Count(Situation::kClaimAttached, answer == ClaimVerdict::kAttached);
  Count(Situation::kClaimConflict, answer == ClaimVerdict::kConflict);
  Count(Situation::kClaimFenced, answer == ClaimVerdict::kFenced);
}

void Sometimes::CrashAt(BatchStep step, bool inside) {
  const auto first = inside ? Situation::kCrashInStep : Situation::kCrashAtStep;
  Count(static_cast<Situation>(static_cast<size_t>(first) + static_cast<size_t>(step)));
}

void Sometimes::Add(const Sometimes& other) {
  for (size_t i = 0; i < counts_.size(); i++) {
    counts_[i] += other.counts_[i];
  }
}

}  // namespace oncemq::sim
