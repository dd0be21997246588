// SPDX-License-Identifier: Apache-2.0
// How the store of a partition and the group's commit fit together (rules 2, 5, 6, 28). Pure logic:
// the runtime opens the store and asks the broker, this judges.
//
// Where effects live in the store itself (level atomic) the store decides: what it has lost is
// handled again. Elsewhere the commit decides, and what the store has lost of it is read again from
// the log, ids only.
#pragma once

#include <cstdint>

#include "oncemq/dedup/window.h"
#include "oncemq/framework/assignment.h"

namespace oncemq {

struct StoreRules {
  Level level = Level::kGuarded;
  int64_t catch_up = 0;         // offsets that may be read again
  bool run_incomplete = false;  // where that does not suffice: go on, with copies running again
  bool keeps_claims = true;     // the window knows the begun ids of a former owner
  bool reads_park = false;      // as of PlanCatchUp
};

// Sets where to read and to start, and what the store will know then. Errors are incidents: the
// text says what was found, and what a person may do.
Status FitStore(const StoreKnowledge& known, const StoreRules& rules, Assignment& assignment);

}  // namespace oncemq
