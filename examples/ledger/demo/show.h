// SPDX-License-Identifier: Apache-2.0
// The run: PostgreSQL, a broker, three writers that are killed at random, then the verdict.
//
// Thread safety: the main thread.
#pragma once

#include <cstdint>
#include <filesystem>

namespace ledger::demo {

struct ShowOptions {
  int64_t seconds = 60;
  uint64_t seed = 1;
  bool keep = false;
  std::filesystem::path program;       // `ledger`
  std::filesystem::path service_file;  // of the example
};

// Its exit code: 0 for "verdict: OK", 4 for "verdict: FAILED", 3 where PostgreSQL is missing, 1 for
// a run that could not go on, 128 and the signal that ended it.
int RunShow(const ShowOptions& options);

}  // namespace ledger::demo
