// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "oncemq/base/result.h"

namespace oncemq {

// The server did not answer, or did not let us in. That says nothing about the request, and asking
// again may help.
inline bool IsOutage(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kTimeout ||
         error.code == Code::kRefused;
}

// An outage, or a store without room: it may have some later.
inline bool MayPass(const Error& error) {
  return IsOutage(error) || error.code == Code::kFull;
}

}  // namespace oncemq
