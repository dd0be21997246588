// SPDX-License-Identifier: Apache-2.0
// Scripts: sequences of calls, played to a window and to the model, whose answers must agree.
#pragma once

#include <cstdint>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "window_test.h"

namespace oncemq::conformance {

// Small numbers that name what is done to what. Any value of any field is legal, so that anything
// may generate scripts, and cut them down.
struct Step {
  enum Kind : uint8_t {
    kClaim,
    kComplete,
    kRelease,
    kReleaseAsUncertain,
    kPark,
    kRenew,
    kRestore,
    kPeek,
    kRaise,
    kAdvance,
    kKinds
  };
  uint8_t kind = kClaim;
  uint8_t id = 0;
  uint8_t token = 0;
  uint8_t at = 0;
  uint8_t owner_epoch = 0;  // none, the partition's own one, or an earlier one
  uint8_t fingerprint = 0;  // not taken, or one of two
  // Of a park entry, a result or a time; a claim with 3 of 4 takes nothing uncertain, a release
  // with an odd one has failed. Claims and releases of a parked record have its number in the rest.
  uint8_t number = 0;
  bool joins = false;  // the batch of the step before, if that is of the same kind
};

using Script = std::vector<Step>;
void PrintTo(const Step& step, std::ostream* out);

Script RandomScript(std::mt19937_64& random, size_t steps);

// Plays the script to a new window; returns what differed first, or nothing.
std::string Play(const Subject& subject, const WindowTimes& times, const Script& script);

// The script without the steps that its failure does not need.
Script Shrink(const Subject& subject, const WindowTimes& times, Script script);

}  // namespace oncemq::conformance
