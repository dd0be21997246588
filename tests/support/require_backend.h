// SPDX-License-Identifier: Apache-2.0
// What a test does when the server that it needs can't be had: it skips and says why. With
// REQUIRE_BACKENDS=1 in the environment, as in CI, it fails instead: nothing goes untested unseen.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace oncemq::testing {

inline bool BackendsAreRequired() {
  const char* value = std::getenv("REQUIRE_BACKENDS");
  return value != nullptr && std::string_view(value) == "1";
}

}  // namespace oncemq::testing

// `missing` is a std::optional<std::string>: why the server can't be had, nothing when it can.
// Ends the calling function, so it stands in the body of a test or in SetUp().
#define ONCEMQ_REQUIRE_BACKEND(missing)                                       \
  do {                                                                        \
    const std::optional<std::string> oncemq_why = (missing);                  \
    if (oncemq_why.has_value() && ::oncemq::testing::BackendsAreRequired()) { \
      GTEST_FAIL() << "REQUIRE_BACKENDS=1, but " << *oncemq_why;              \
    }                                                                         \
    if (oncemq_why.has_value()) {                                             \
      GTEST_SKIP() << *oncemq_why;                                            \
    }                                                                         \
  } while (false)
