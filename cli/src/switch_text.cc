// SPDX-License-Identifier: Apache-2.0
#include "switch_text.h"

#include <nlohmann/json.hpp>

#include "safe_json.h"

namespace oncemq {

std::string SwitchText(const LockSwitch& state, bool watched) {
  std::string text = state.in_force + " is in force, epoch " + std::to_string(state.epoch);
  if (state.phase != SwitchMode::kSingle) {
    text += "; switching to " + state.target +
            (state.phase == SwitchMode::kBoth ? " (planned: both grant)"
                                              : " (drained: nothing is granted but to the fenced)");
  }
  if (state.holds_left) {
    text += ", " + std::to_string(*state.holds_left) + " holds have not moved yet";
  }
  if (state.left) {
    text += ", " + std::to_string(state.left->count()) + " ms left at most";
    text += watched ? "" : " (one look does not know when the switch began: --watch counts down)";
  }
  if (!state.why.empty()) {
    text += "; why: " + SafeText(state.why);
  }
  return text + "\n";
}

std::string SwitchJson(const LockSwitch& state) {
  nlohmann::ordered_json out{{"in_force", state.in_force},
                             {"target", state.target},
                             {"phase", ToString(state.phase)},
                             {"epoch", state.epoch},
                             {"holds_left", nullptr},
                             {"left_ms", nullptr},
                             {"why", state.why}};
  if (state.holds_left) {
    out["holds_left"] = *state.holds_left;
  }
  if (state.left) {
    out["left_ms"] = state.left->count();
  }
  return SafeJson(out) + "\n";
}

void WatchSwitch(const std::function<LockSwitch()>& read, const std::function<void()>& pause,
                 const std::function<bool(const LockSwitch& state)>& print) {
  for (LockSwitch state = read(); print(state) && state.phase != SwitchMode::kSingle;
       state = read()) {
    pause();
  }
}

}  // namespace oncemq
