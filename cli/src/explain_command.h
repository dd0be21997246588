// SPDX-License-Identifier: Apache-2.0
// oncemq explain guarantee: what holds and what doesn't, in general, by a service file, or by what
// a running service says. The first line says which of these it is.
#pragma once

#include "query_service.h"

namespace oncemq {

// Without a file and a socket it explains the levels. The exit code.
int ExplainGuaranteeCommand(const ServiceTarget& target, bool json);

}  // namespace oncemq
