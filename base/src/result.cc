// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/result.h"

namespace oncemq {

std::string_view ToString(Code code) {
  switch (code) {
    case Code::kInvalid:
      return "invalid";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kTimeout:
      return "timeout";
    case Code::kFenced:
      return "fenced";
    case Code::kFull:
      return "full";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kNotFound:
      return "not found";
    case Code::kInternal:
      return "internal";
  }
  return "unknown";
}

std::string ToString(const Error& error) {
  std::string text(ToString(error.code));
  if (error.effect == Effect::kUnknown) {
    text += " (may have taken effect)";
  }
  return error.message.empty() ? text : text + ": " + error.message;
}

}  // namespace oncemq
