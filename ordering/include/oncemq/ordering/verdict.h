// SPDX-License-Identifier: Apache-2.0
// What became of a finished delivery, and the sums that must add up (docs/guarantees.md, the two
// identities).
#pragma once

#include <cstdint>

namespace oncemq {

enum class Verdict : uint8_t {
  kOpen,         // not finished yet
  kApplied,      // its handler ran and its effect is on record
  kSuppressed,   // its effect was already there
  kParked,       // put aside, with its followers
  kRejected,     // refused for good, on record in the journal
  kSkipped,      // passed over by an operator's or a policy's decision
  kCarried,      // finished before, and already in the totals: must not be counted again
  kOpenCarried,  // finished before, its marker not known to be there yet; ends as kCarried
};

constexpr bool IsOpen(Verdict verdict) {
  return verdict == Verdict::kOpen || verdict == Verdict::kOpenCarried;
}

// Finished without its effect: nobody may take its id for done (rule 4).
constexpr bool IsNotDone(Verdict verdict) {
  return verdict == Verdict::kParked || verdict == Verdict::kRejected;
}

// Outcomes of the offsets of one partition. They travel in the commit, in one snapshot with its
// offset.
struct Totals {
  int64_t applied = 0;
  int64_t suppressed = 0;
  int64_t parked = 0;
  int64_t rejected = 0;
  int64_t skipped = 0;

  int64_t sum() const { return applied + suppressed + parked + rejected + skipped; }
  void Count(Verdict verdict);
  Totals& operator+=(const Totals& more);
  friend bool operator==(const Totals&, const Totals&) = default;
};

inline void Totals::Count(Verdict verdict) {
  switch (verdict) {
    case Verdict::kApplied:
      applied++;
      break;
    case Verdict::kSuppressed:
      suppressed++;
      break;
    case Verdict::kParked:
      parked++;
      break;
    case Verdict::kRejected:
      rejected++;
      break;
    case Verdict::kSkipped:
      skipped++;
      break;
    case Verdict::kOpen:
    case Verdict::kCarried:
    case Verdict::kOpenCarried:
      break;
  }
}

inline Totals& Totals::operator+=(const Totals& more) {
  applied += more.applied;
  suppressed += more.suppressed;
  parked += more.parked;
  rejected += more.rejected;
  skipped += more.skipped;
  return *this;
}

}  // namespace oncemq
