// SPDX-License-Identifier: Apache-2.0
// The runtime on stores of its own that know ten million ids before it begins.
#pragma once

#include <string>

#include "oncemq/dedup/local_window.h"

namespace oncemq::bench {

int RunLocalBench(const std::string& name, SyncWhen sync, int argc, char** argv);

}  // namespace oncemq::bench
