// SPDX-License-Identifier: Apache-2.0
#include "each_engine.h"

namespace oncemq::testing {

std::vector<StormEngine> EnginesWithAnAddress() {
  std::vector<StormEngine> engines;
  for (const StormEngine& engine : StormEngines()) {
    if (engine.name != "switched") {
      engines.push_back(engine);
    }
  }
  return engines;
}

}  // namespace oncemq::testing
