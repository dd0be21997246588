// SPDX-License-Identifier: Apache-2.0
// The daily closing: one row for each day, from the first host that comes.
//
// Promise: processes that close the same day at the same time elect a leader, which closes it. The
// others then find it closed. A leader that was paused can do no harm: the day is the primary key.
//
// Thread safety: any thread. Blocks: until this process leads, or stop is requested.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "oncemq/base/result.h"
#include "postings.h"

namespace ledger {

struct Closing {
  bool by_us = false;
  std::string closed_by;
  int64_t postings = 0;
  int64_t turnover = 0;
};

// The address as of OpenPostgres. `closed_by` goes into the row. Failures: a refusal of the
// database (no such day, books that do not balance); kUnavailable for a closing that was
// stopped before.
oncemq::Result<Closing> CloseAsLeader(std::string_view address, const CloseDay& close,
                                      std::string_view closed_by, std::stop_token stop = {});

}  // namespace ledger
