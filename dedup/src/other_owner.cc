// SPDX-License-Identifier: Apache-2.0
#include "other_owner.h"

#include <algorithm>
#include <string>
#include <utility>

namespace oncemq {
namespace {

// The first fields to differ, between two lists with ", " between the fields. Both lists whole, if
// one is the beginning of the other.
std::pair<std::string_view, std::string_view> FirstDifference(std::string_view one,
                                                              std::string_view other) {
  constexpr std::string_view kBetween = ", ";
  std::string_view rest = one;
  std::string_view its_rest = other;
  while (!rest.empty() && !its_rest.empty()) {
    const std::string_view field = rest.substr(0, rest.find(kBetween));
    const std::string_view its_field = its_rest.substr(0, its_rest.find(kBetween));
    if (field != its_field) {
      return {field, its_field};
    }
    const size_t begun = field.size() + kBetween.size();
    rest.remove_prefix(std::min(begun, rest.size()));
    its_rest.remove_prefix(std::min(begun, its_rest.size()));
  }
  return {one, other};
}

}  // namespace

// A difference of one word is hard to find in two long names, so it comes first.
Error OtherOwner(std::string_view store, std::string_view kept, std::string_view asked) {
  const auto [its, ours] = FirstDifference(kept, asked);
  std::string text = std::string(store) + " belongs to \"" + std::string(its) + "\", not to \"" +
                     std::string(ours) + "\"";
  if (its != kept || ours != asked) {
    text += "; it was written for \"" + std::string(kept) + "\" and is opened for \"" +
            std::string(asked) + "\"";
  }
  return {Code::kInvalid, Effect::kNone, std::move(text)};
}

}  // namespace oncemq
