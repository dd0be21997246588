// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "oncemq/base/result.h"

namespace oncemq {

// Whoever was asked did not answer. That says nothing about what was asked, and asking again may
// help.
inline bool IsOutage(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kTimeout;
}

// An outage, or a store without room: it may have some later.
inline bool MayPass(const Error& error) {
  return IsOutage(error) || error.code == Code::kFull;
}

}  // namespace oncemq
