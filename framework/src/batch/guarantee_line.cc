// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/runtime.h"

namespace oncemq {
namespace {

// What becomes of the window when its process ends, or its partition moves.
std::string_view Leaves(const WindowCapabilities& window, bool one_host) {
  if (window.shared) {
    return window.survives_restart ? "" : "; a restart of its server empties the window";
  }
  if (!window.durable) {
    return "; the window is forgotten with the process";
  }
  if (!window.keeps_claims) {
    return window.survives_restart
               ? "; a partition that moves takes its window along"
               : "; a partition that moves takes its window along, and a restart of its server "
                 "empties it";
  }
  return one_host ? "; the window stays on this host, and so do all members"
                  : "; a partition that moves to another host leaves its window behind";
}

}  // namespace

std::string GuaranteeLine(const WindowCapabilities* window, MissingId missing_id, bool one_host) {
  if (window == nullptr) {
    return "at least once: no window, no copy is recognised";
  }
  if (missing_id == MissingId::kPass) {
    return GuaranteeLine(window, MissingId::kRefuse, one_host) +
           "; a message without an id: at least once";
  }
  const std::string rest(Leaves(*window, one_host));
  switch (window->level) {
    case Level::kAtomic:
      return "atomic: once per id, effect and marker commit together" + rest;
    case Level::kGuarded:
      return "guarded: once per id, if the target stores the id with the effect" + rest;
    case Level::kOpaque:
      // Rules 3 and 11: the calls that no commit shows are the bound, where the markers do not come
      // along.
      return "opaque: at least once, copies are suppressed while the window knows them" + rest +
             (window->shared || (window->durable && window->keeps_claims && one_host)
                  ? ""
                  : std::string(": work since the last acknowledged commit may run twice ") +
                        (window->durable && window->keeps_claims ? "there" : "then") +
                        ", told and counted as uncertain");
  }
  return "?";
}

}  // namespace oncemq
