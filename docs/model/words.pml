// SPDX-License-Identifier: Apache-2.0
// The words that all models share: states and answers as the code names them, and how a model
// complains.

mtype = { kNone, kOpen, kDone, kParked };                                    // MarkerState
mtype = { kGranted, kDuplicate, kInFlight, kAttached, kConflict, kFenced };  // Answer
mtype = { kMade };                                                           // Change
mtype = { A, B, C, R };                                                      // who acts
mtype = { x, y, z };                                                         // ids

// An invariant. The runner looks for the text, so that a rule that is switched off has to break
// just what it protects.
#define REQUIRE(condition, text) \
  if \
  :: (condition) \
  :: else -> printf(text); assert(false) \
  fi
