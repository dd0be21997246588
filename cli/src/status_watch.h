// SPDX-License-Identifier: Apache-2.0
// `--watch` looks again and again, until a signal ends it.
//
//   return WatchStatus({.every = "5s"}, look, StatusTableOf);
//
// On a terminal a table is redrawn in its place. Elsewhere a line is written with its time, if it
// differs from the last look. With `json` each look is an object on a line. NO_COLOR and TERM=dumb
// are respected.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "status_table.h"

namespace oncemq {

struct WatchArguments {
  bool watch = false;
  std::string every;  // a duration, 1s if empty
};

struct StatusLook {
  int code = 0;                   // an exit code
  nlohmann::ordered_json result;  // null after an error, told on standard error
  std::string why;                // for a terminal
};

// Returns where a look ends with kExitUsage, or the output is closed. Others may get better.
int WatchStatus(const WatchArguments& arguments, bool json, const std::function<StatusLook()>& look,
                const std::function<StatusTable(const nlohmann::ordered_json&)>& table);

// A picture for the terminal of standard output, or for a file.
TableLook LookOfOutput();

// The lines that the last look did not have, each with the time before it.
std::string NewLines(const std::vector<std::string>& last, const std::vector<std::string>& lines,
                     const std::string& time);

}  // namespace oncemq
