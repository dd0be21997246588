// SPDX-License-Identifier: Apache-2.0
// RaiseRecord: what an operator does with the record of a switchboard that was lost or went back.
// Whoever started meanwhile has begun another one, of an epoch that the stores refuse; raised above
// theirs it is in force again, for those who run, too.
//
// Limits, first. What was in force before the loss, nobody can say any more: which store it was,
// and who holds names there. So wait for the configuration lease and the longest lease behind the
// loss, or count on fences.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/base/switch_record.h"
#include "oncemq/base/switch_store.h"

namespace oncemq {

// Each switch needs two more, and what a store was sealed with it never forgets.
inline constexpr uint32_t kHighestRaise = 2'147'483'647;

struct RaiseOptions {
  uint32_t epoch = 1;  // at least: above every one that a store knows; up to kHighestRaise
  std::optional<milliseconds> longest;  // at least; none: as it is, or as usual where there is none
  std::string from;                     // in force where there is no record; else that decides
  std::string why;
  // Whether a store can be sealed, as in SwitchboardOptions. Empty: all.
  std::function<bool(std::string_view store)> seals;
};

struct RaisedRecord {
  std::optional<SwitchRecord> before;  // none: there was none
  SwitchRecord now;                    // the same as before: nothing had to be changed
};

// Epoch and longest lease become at least these, and are never lowered; all else stays as it is.
// Where there is no record, one is begun. One step, by compare and swap. Failures: kInvalid for
// options that give no record, and where a store in force cannot be sealed (S2); kCorrupt for what
// is no record there; kFenced: somebody else changed it at the same time; else the store's.
Result<RaisedRecord> RaiseRecord(SwitchStore& store, const RaiseOptions& least);

}  // namespace oncemq
