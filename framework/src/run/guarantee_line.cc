// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/runtime.h"

namespace oncemq {

std::string GuaranteeLine(const WindowCapabilities* window, MissingId missing_id) {
  if (window == nullptr) {
    return "at least once: no window, no copy is recognised";
  }
  if (missing_id == MissingId::kPass) {
    return GuaranteeLine(window) + "; a message without an id: at least once";
  }
  const bool lost = !window->shared && !window->durable;
  switch (window->level) {
    case Level::kAtomic:
      return "atomic: once per id, effect and marker commit together";
    case Level::kGuarded:
      return std::string("guarded: once per id, if the target stores the id with the effect") +
             (lost ? "; the window is forgotten with the process" : "");
    case Level::kOpaque:
      return std::string(
                 "opaque: at least once, copies are suppressed while the window knows "
                 "them") +
             (lost ? "; it is forgotten with the process" : "");
  }
  return "?";
}

}  // namespace oncemq
