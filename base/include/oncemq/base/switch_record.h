// SPDX-License-Identifier: Apache-2.0
// SwitchRecord: the store in force for all users of the same names, and the steps to another one.
// One linearizable record, kept in a SwitchStore. Without clock or I/O. docs/locks.md says how a
// switch looks from outside.
//
// S1  A copy of the record is good for the configuration lease, from *sending* its question.
//     Without a good copy a process asks no store for a grant or an extension.
// S2  The record changes by compare and swap only, each time to a later epoch: the next one, or
//     after a loss a greater one (raise_record.h). Fences begin with it, and stores are sealed with
//     it. A store that cannot be sealed keeps names by epoch, so no record is raised while such a
//     store is in force.
// S3, S4 stand below.
// S5  So any two records in use at a time share a store that both ask, or the epoch orders their
//     fenced effects.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"

namespace oncemq {

// S3  kSingle: `from` grants. kBoth: `from` grants and then `to`, and only both together count.
//     kDrain: `to` grants, and only requests whose effects check their fence.
enum class SwitchMode : unsigned char { kSingle, kBoth, kDrain };
std::string_view ToString(SwitchMode mode);

struct SwitchRecord {
  uint32_t epoch = 0;  // 0: nobody has written one yet
  SwitchMode mode = SwitchMode::kSingle;
  std::string from;  // the store in force
  std::string to;    // the one that is to come; empty with kSingle
  milliseconds config_lease{10'000};
  milliseconds longest{30'000};  // the longest lease that anybody asks a store for
  std::string why;               // for people

  friend bool operator==(const SwitchRecord&, const SwitchRecord&) = default;
};

// How stores are called: 1 to 64 of a-z, 0-9, '-', '_' and '.'.
bool IsStoreName(std::string_view name);

// Text, as docs/formats.md has it. Parsing is total; kCorrupt for what is not ours.
std::string Format(const SwitchRecord& record);
Result<SwitchRecord> ParseSwitchRecord(std::string_view text);

// S3: the stores that must grant, in their order; none: nothing is granted now.
std::vector<std::string> StoresThatGrant(const SwitchRecord& record, bool fenced);
// Those that may hold something that is in force.
std::vector<std::string> StoresInForce(const SwitchRecord& record);

// The steps, each the next epoch (S2). kInvalid for a step out of turn.
//
// S4  `to` alone comes into force when the configuration lease and the longest lease have passed
//     since the record was seen to be kBoth or kDrain. Until then it can be called off. A drain of
//     a store that cannot be sealed only ends, since its names are held still under their epoch.
Result<SwitchRecord> BeginSwitch(const SwitchRecord& now, std::string_view to, SwitchMode mode,
                                 std::string_view why);
Result<SwitchRecord> EndSwitch(const SwitchRecord& now, std::string_view why);
// Whether the store can be sealed, its caller knows (S4).
Result<SwitchRecord> CallOffSwitch(const SwitchRecord& now, std::string_view why);
// S4: how long a step takes from when it was seen.
milliseconds HowLongToEnd(const SwitchRecord& record);

}  // namespace oncemq
