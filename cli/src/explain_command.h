// SPDX-License-Identifier: Apache-2.0
// oncemq explain guarantee: what holds and what doesn't, in general or for one service.
#pragma once

#include <string>

namespace oncemq {

// Without a file (`config` empty) it explains the levels. The exit code.
int ExplainGuaranteeCommand(const std::string& config);

}  // namespace oncemq
