// SPDX-License-Identifier: Apache-2.0
// oncemq explain id: where the message of an id is.
#pragma once

#include <string>

#include "query_service.h"

namespace oncemq {

struct ExplainIdArguments {
  std::string id;
  bool hex = false;
  bool json = false;
};

// With a service file that parks, it reads the park topics too. The exit code.
int ExplainIdCommand(const ServiceTarget& target, const ExplainIdArguments& arguments);

// For people. Any JSON gives a text.
std::string IdExplainedText(const nlohmann::ordered_json& answer);

}  // namespace oncemq
