// SPDX-License-Identifier: Apache-2.0
// The report as one HTML file that needs nothing else: both runs next to each other, as pictures
// over time and as a table of all checks. It holds no figure that the caller did not count.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run_origin.h"
#include "timeline.h"
#include "verdict.h"

namespace oncemq::demo {

struct RunReportFacts {
  std::vector<Finding> findings;
  Timeline timeline;
  Doubles doubles;
  LeftByKill left;
  std::vector<WorkerEvidence> workers;
};

struct PageFacts {
  RunOrigin origin;
  int64_t payments = 0;
  int64_t messages = 0;  // copies included
  int64_t accounts = 0;
  uint64_t seed = 0;
  bool redis = false;  // window and ledger were there, at level guarded
  RunReportFacts with;
  RunReportFacts without;
};

// Well-formed XML too.
std::string ReportPage(const PageFacts& facts);

}  // namespace oncemq::demo
