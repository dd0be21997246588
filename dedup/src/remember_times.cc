// SPDX-License-Identifier: Apache-2.0
#include "remember_times.h"

#include <array>
#include <utility>

#include "window_check.h"

namespace oncemq {

std::string DurationText(milliseconds duration) {
  constexpr std::array<std::pair<int64_t, std::string_view>, 3> kUnits = {
      {{3'600'000, "h"}, {60'000, "m"}, {1'000, "s"}}};
  const int64_t millis = duration.count();
  for (const auto& [unit, name] : kUnits) {
    if (millis != 0 && millis % unit == 0) {
      return std::to_string(millis / unit) + std::string(name);
    }
  }
  return std::to_string(millis) + "ms";
}

Status CheckRememberTimes(const RememberTimes& asked, const RememberTimes& in_force,
                          std::string_view keeper, RememberChange change) {
  const auto text = [](const RememberTimes& times) {
    return "remember " + DurationText(times.remember) + ", skew " + DurationText(times.skew);
  };
  const std::string both = std::string(keeper) + " has " + text(in_force) +
                           "; this process asks for " + text(asked) + ", and ";
  if (change == RememberChange::kReplace && IsLonger(asked, in_force)) {
    return InvalidRequest(both +
                          "nothing is changed: this only lowers; a start with a longer time "
                          "raises it");
  }
  const bool shorter = asked.remember < in_force.remember || asked.skew < in_force.skew;
  if (change == RememberChange::kNone || !shorter) {
    return {};
  }
  return InvalidRequest(both +
                        "would forget too early for the others; ask for as much, or let "
                        "`oncemq window shorten -c FILE --why TEXT` lower it for all");
}

}  // namespace oncemq
