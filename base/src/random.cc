// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/random.h"

#include <sys/random.h>

#include "oncemq/base/check.h"

namespace oncemq {

uint64_t SecureRandom64() {
  uint64_t value = 0;
  const ssize_t got = getrandom(&value, sizeof value, 0);
  ONCEMQ_CHECK(got == static_cast<ssize_t>(sizeof value), "the system must give random bytes");
  return value;
}

}  // namespace oncemq
