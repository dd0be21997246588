// SPDX-License-Identifier: Apache-2.0
// The lines of `oncemq lock switch` about a switch: one, or one a look until it is over.
//
// The record of a switch does not say when the switch began, so a process counts from the first
// look that saw it. A single look therefore always tells the whole time; only a process that goes
// on looking can count down.
#pragma once

#include <functional>
#include <string>

#include "oncemq/locks/switched_locks.h"

namespace oncemq {

// One line, with its line feed. `watched`: others follow it, which count down.
std::string SwitchText(const LockSwitch& state, bool watched);
std::string SwitchJson(const LockSwitch& state);

// Tells of each look until no switch is under way, with a pause between two of them, or until
// `print` says false.
void WatchSwitch(const std::function<LockSwitch()>& read, const std::function<void()>& pause,
                 const std::function<bool(const LockSwitch& state)>& print);

}  // namespace oncemq
