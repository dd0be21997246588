// SPDX-License-Identifier: Apache-2.0
// What an opening may ask of a scope that has its times already.
//
// Thread safety: any thread.
#pragma once

#include <string>
#include <string_view>

#include "oncemq/dedup/window.h"

namespace oncemq {

template <class WindowOptions>
RememberTimes RequestedTimes(const WindowOptions& options) {
  return {options.remember, options.skew};
}

// As in a service file: "168h".
std::string DurationText(milliseconds duration);

inline std::string ScopeText(std::string_view scope) {
  return "the scope \"" + std::string(scope) + "\"";
}

// Whether one of the times would be raised. Before the first opening none is in force.
inline bool IsLonger(const RememberTimes& asked, const RememberTimes& in_force) {
  return in_force.remember > milliseconds(0) &&
         (asked.remember > in_force.remember || asked.skew > in_force.skew);
}

// After the change. kInvalid: an asked time is shorter than in force, or longer at kReplace.
// `keeper` names the store in the text.
Status CheckRememberTimes(const RememberTimes& asked, const RememberTimes& in_force,
                          std::string_view keeper, RememberChange change = RememberChange::kCheck);

}  // namespace oncemq
