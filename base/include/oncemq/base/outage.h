// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "oncemq/base/result.h"

namespace oncemq {

// The server gave no answer.
inline bool IsSilent(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kTimeout;
}

// The address, the login or the request is wrong, and asking again does not help.
inline bool IsMisconfigured(const Error& error) {
  return error.code == Code::kInvalid || error.code == Code::kRefused;
}

// The server did not answer, or did not let us in.
inline bool IsOutage(const Error& error) {
  return IsSilent(error) || error.code == Code::kRefused;
}

// An outage, or contention. It says nothing about the request, and asking again may help.
inline bool IsTransient(const Error& error) {
  return IsOutage(error) || error.code == Code::kBusy;
}

// Transient, or a store without room. It may have some later.
inline bool MayPass(const Error& error) {
  return IsTransient(error) || error.code == Code::kFull;
}

}  // namespace oncemq
