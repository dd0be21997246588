// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/mutant.h"

#ifdef ONCEMQ_MUTANTS

#include <cstdlib>
#include <cstring>

namespace oncemq {

bool MutantChosen(const char* name) {
  const char* chosen = std::getenv("ONCEMQ_MUTANT");
  return chosen != nullptr && std::strcmp(chosen, name) == 0;
}

}  // namespace oncemq

#endif
