// SPDX-License-Identifier: Apache-2.0
#include "explain_command.h"

#include <iostream>

#include "exit_code.h"
#include "oncemq/framework/service_file.h"

namespace oncemq {

int ExplainGuaranteeCommand(const std::string& config) {
  if (config.empty()) {
    std::cout << ExplainLevels();
    return kExitDone;
  }
  const Result<ServiceOptions> options = LoadService(config);
  if (!options) {
    std::cerr << options.error().message << "\n";
    return kExitUsage;
  }
  std::cout << ExplainGuarantee(*options);
  return kExitDone;
}

}  // namespace oncemq
