// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/result.h"

#include <cstdio>
#include <cstdlib>

namespace oncemq {

std::string_view ToString(Code code) {
  switch (code) {
    case Code::kInvalid:
      return "invalid";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kRefused:
      return "refused";
    case Code::kTimeout:
      return "timeout";
    case Code::kBusy:
      return "busy";
    case Code::kFenced:
      return "fenced";
    case Code::kFull:
      return "full";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kLostWrites:
      return "lost writes";
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

void NoValue(const Error& error) {
  std::fprintf(stderr, "oncemq: a Result without a value was read; its error: %s\n",
               ToString(error).c_str());
  std::abort();
}

void NoError() {
  std::fprintf(stderr, "oncemq: the error of a Result was read, but it has none\n");
  std::abort();
}

}  // namespace oncemq
