// SPDX-License-Identifier: Apache-2.0
// What must hold between options, whoever filled them in: a file or a program.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "oncemq/framework/service_options.h"

namespace oncemq {

struct BrokenRule {
  std::string path;  // of the option, as the file names it
  std::string text;
};

std::vector<BrokenRule> BrokenRules(const ServiceOptions& options);

}  // namespace oncemq
