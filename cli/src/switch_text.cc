// SPDX-License-Identifier: Apache-2.0
#include "switch_text.h"

#include <nlohmann/json.hpp>

#include "safe_json.h"

namespace oncemq {

std::string SwitchText(const LockSwitch& told, bool watched) {
  std::string text = told.in_force + " is in force, epoch " + std::to_string(told.epoch);
  if (told.phase != SwitchMode::kSingle) {
    text += "; switching to " + told.target +
            (told.phase == SwitchMode::kBoth ? " (planned: both grant)"
                                             : " (drained: nothing is granted but to the fenced)");
  }
  if (told.holds_left) {
    text += ", " + std::to_string(*told.holds_left) + " holds have not moved yet";
  }
  if (told.left) {
    text += ", " + std::to_string(told.left->count()) + " ms left at most";
    text += watched ? "" : " (one look does not know when the switch began: --watch counts down)";
  }
  if (!told.why.empty()) {
    text += "; why: " + SafeText(told.why);
  }
  return text + "\n";
}

std::string SwitchJson(const LockSwitch& told) {
  nlohmann::ordered_json out{{"in_force", told.in_force},
                             {"target", told.target},
                             {"phase", ToString(told.phase)},
                             {"epoch", told.epoch},
                             {"holds_left", nullptr},
                             {"left_ms", nullptr},
                             {"why", told.why}};
  if (told.holds_left) {
    out["holds_left"] = *told.holds_left;
  }
  if (told.left) {
    out["left_ms"] = told.left->count();
  }
  return SafeJson(out) + "\n";
}

void WatchSwitch(const std::function<LockSwitch()>& read, const std::function<void()>& pause,
                 const std::function<bool(const LockSwitch& told)>& tell) {
  for (LockSwitch told = read(); tell(told) && told.phase != SwitchMode::kSingle; told = read()) {
    pause();
  }
}

}  // namespace oncemq
