// SPDX-License-Identifier: Apache-2.0
#include "history.h"

#include <array>
#include <cstdio>
#include <utility>

#include "oncemq/base/hash.h"
#include "park_record.h"

namespace oncemq::sim {
namespace {

constexpr std::array<std::string_view, 36> kOps{
    "start",     "crash",   "owner",    "reset",      "assign",  "raise",      "commit",  "answer",
    "admit",     "bounds",  "take",     "claim",      "release", "complete",   "park",    "restore",
    "renew",     "handle",  "effect",   "journal",    "settle",  "gone",       "revoke",  "lost",
    "give-back", "stop",    "counts",   "healed",     "drained", "open-claim", "refused", "power",
    "moved",     "cleaned", "not-read", "park-record"};
constexpr std::array<std::string_view, 4> kPhases{"...", "ok", "refused", ""};

std::string ValueText(const Record& record) {
  switch (record.op) {
    case Op::kClaim:
      return record.phase == Phase::kOk
                 ? std::string(oncemq::ToString(static_cast<ClaimVerdict>(record.value)))
                 : "";
    case Op::kRelease:
    case Op::kComplete:
    case Op::kPark:
    case Op::kRestore:
    case Op::kRenew:
      return record.phase != Phase::kOk ? "" : record.value == 0 ? "made" : "fenced";
    case Op::kHandle:
      return record.phase != Phase::kOk ? ""
             : record.value == 0        ? "done"
             : record.value == 1        ? "retry"
                                        : "reject";
    case Op::kEffect:
      return record.value == 0 ? "accepted" : record.value == 1 ? "already done" : "old fence";
    case Op::kSettle:
      return std::string(ToString(static_cast<DeliveryFate>(record.value))) + " stage " +
             std::to_string(record.aux & kStageMask);
    case Op::kParkRecord:
      return std::string(ToString(static_cast<ParkKind>(record.value)));
    case Op::kAnswer:
      return record.value == 0 ? "acknowledged" : record.value == 1 ? "refused" : "unknown";
    default:
      return std::to_string(record.value);
  }
}

std::string CommitText(const CommitFacts& commit) {
  const CommitMetadata& m = commit.metadata;
  std::string out = " F=" + std::to_string(commit.offset) + " own " +
                    std::to_string(m.owner_epoch % 100000) + " since " + std::to_string(m.since) +
                    " totals " + std::to_string(m.totals.sum()) + " map";
  for (const auto& range : m.map.ranges()) {
    out += " [" + std::to_string(range.from) + "," + std::to_string(range.to) + ")";
  }
  if (m.unclean_ends > 0) {
    out += " ends " + std::to_string(m.unclean_ends) + " to " + std::to_string(m.cautious_to);
  }
  for (const DeathNotes::Killer& killer : m.killers) {
    out += " killer " + std::to_string(killer.offset) + "*" + std::to_string(killer.deaths);
  }
  out += m.alone ? " alone " + std::to_string(*m.alone) : "";
  if (m.clean) {
    out += " clean, abandoned";
    for (const int64_t offset : m.abandoned) {
      out += " " + std::to_string(offset);
    }
  }
  return out;
}

}  // namespace

void History::Append(const Record& r) {
  const uint64_t words[] = {static_cast<uint64_t>(r.time),
                            uint64_t{r.process} << 32 | static_cast<uint64_t>(r.op) << 16 |
                                static_cast<uint64_t>(r.phase) << 8 | (r.flag ? 1u : 0u),
                            uint64_t{static_cast<uint32_t>(r.partition)} << 32 | r.epoch,
                            static_cast<uint64_t>(r.offset),
                            uint64_t{r.delivery} << 32 | r.id,
                            r.token.process ^ MixBits(r.token.attempt),
                            r.owner_epoch,
                            static_cast<uint64_t>(r.value) ^ MixBits(static_cast<uint64_t>(r.aux)) ^
                                uint64_t{r.term} << 40};
  for (const uint64_t word : words) {
    hash_ = MixBits(hash_ ^ word);
  }
  records_.push_back(r);
}

uint32_t History::AddDelivery(const DeliveryFacts& facts) {
  deliveries_.push_back(facts);
  return static_cast<uint32_t>(deliveries_.size() - 1);
}

int64_t History::AddCommit(CommitFacts facts) {
  hash_ = MixBits(hash_ ^ StableHash(facts.text));
  commits_.push_back(std::move(facts));
  return static_cast<int64_t>(commits_.size()) - 1;
}

int64_t History::AddCounts(const DeliveryCounts& counts) {
  counts_.push_back(counts);
  return static_cast<int64_t>(counts_.size()) - 1;
}

bool IsFinal(const Record& settle) {
  switch (FateOf(settle)) {
    case DeliveryFate::kApplied:
    case DeliveryFate::kSuppressed:
    case DeliveryFate::kParked:
    case DeliveryFate::kRejected:
    case DeliveryFate::kRestored:
      return true;
    default:
      return false;
  }
}

std::string_view ToString(Op op) {
  return kOps[static_cast<size_t>(op)];
}

std::string_view ToString(DeliveryFate fate) {
  constexpr std::array<std::string_view, 11> kFates{"applied",  "suppressed", "parked", "rejected",
                                                    "restored", "retry",      "wait",   "withdrawn",
                                                    "pending",  "own-lost",   "stop"};
  return kFates[static_cast<size_t>(fate)];
}

std::string ToString(const Record& r, const History& history) {
  char head[64];
  std::snprintf(head, sizeof head, "%10.3f ms  P%-3u ", static_cast<double>(r.time) / 1000,
                r.process);
  std::string out = head;
  out += std::string(ToString(r.op)) + " " + std::string(kPhases[static_cast<size_t>(r.phase)]);
  if (r.partition >= 0) {
    out +=
        " p" + std::to_string(r.partition) + (r.offset >= 0 ? "@" + std::to_string(r.offset) : "");
  }
  if (r.epoch != 0) {
    out += " epoch " + std::to_string(r.epoch);
  }
  if (r.delivery != kNone) {
    out += " d" + std::to_string(r.delivery);
  }
  if (r.id != kNone) {
    out += " id " + std::to_string(r.id);
  }
  if (!r.token.empty()) {
    out += " token " + std::to_string(r.token.process) + "." +
           std::to_string(r.token.attempt >> 40) + "." +
           std::to_string(r.token.attempt & 0xFFFFFFFFFF);
  }
  if (r.owner_epoch != 0) {
    out += " own " + std::to_string(r.owner_epoch % 100000);
  }
  out += " " + ValueText(r) + (r.flag ? " (!)" : "");
  if (r.op == Op::kCommit || r.op == Op::kAssign) {
    out += CommitText(history.commit(r.value));
  }
  return out;
}

}  // namespace oncemq::sim
