// SPDX-License-Identifier: Apache-2.0
// What the demo can be told.
//
// Thread safety: values and a pure function.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "oncemq/base/result.h"

namespace oncemq::demo {

struct DemoOptions {
  uint64_t seed = 1;           // draws payments and copies
  uint32_t payments = 20'000;  // a tenth of them is sent twice
  bool window = true;          // --no-window: the run without one is judged, which must fail
  bool redis = false;          // --redis: the window and the ledger are in a Redis
  bool keep = false;           // --keep: the working directory stays
  bool broker_only = false;    // --broker-only: no run, but its broker and a slow stream
  std::string report = "demo-report.html";
  bool help = false;
};

// Without the program's name.
Result<DemoOptions> ParseOptions(std::span<const std::string_view> arguments);

extern const char kHelp[];

}  // namespace oncemq::demo
