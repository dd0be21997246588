// SPDX-License-Identifier: Apache-2.0
#include "explain_command.h"

#include <iostream>
#include <sstream>

#include "exit_code.h"
#include "oncemq/framework/service_file.h"
#include "safe_json.h"

namespace oncemq {
namespace {

int ExplainFile(const std::string& config) {
  const Result<ServiceOptions> options = LoadService(config);
  if (!options) {
    std::cerr << options.error().message << "\n";
    return kExitUsage;
  }
  std::cout << "# By the file " << config << "; no service was asked.\n"
            << ExplainGuarantee(*options);
  return kExitDone;
}

int ExplainRunning(const ServicePlace& place) {
  const Asked asked = AskService(place, {.command = "guarantee"});
  if (asked.code != kExitDone) {
    return asked.code;
  }
  std::cout << "# By the service that runs at " << asked.socket << "; no file was read.\n";
  std::istringstream lines(asked.result.value("text", "?"));
  for (std::string line; std::getline(lines, line);) {
    std::cout << SafeText(line) << "\n";
  }
  return kExitDone;
}

}  // namespace

int ExplainGuaranteeCommand(const ServicePlace& place) {
  if (!place.socket.empty()) {
    return ExplainRunning(place);
  }
  if (!place.config.empty()) {
    return ExplainFile(place.config);
  }
  std::cout << ExplainLevels();
  return kExitDone;
}

}  // namespace oncemq
