// SPDX-License-Identifier: Apache-2.0
#include "edit_distance.h"

#include <algorithm>
#include <vector>

namespace oncemq {
namespace {

constexpr size_t kLongestWord = 64;  // nobody mistypes more than that

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<size_t> cost((a.size() + 1) * width);
  for (size_t i = 0; i <= a.size(); i++) {
    for (size_t j = 0; j <= b.size(); j++) {
      size_t& best = cost[i * width + j];
      if (i == 0 || j == 0) {
        best = i + j;
        continue;
      }
      const size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      best = std::min({cost[(i - 1) * width + j] + 1, cost[i * width + j - 1] + 1,
                       cost[(i - 1) * width + j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best = std::min(best, cost[(i - 2) * width + j - 2] + 1);
      }
    }
  }
  return cost.back();
}

std::string DidYouMean(std::string_view name, std::span<const std::string_view> names) {
  if (name.size() > kLongestWord) {
    return {};
  }
  std::string_view nearest;
  size_t distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string_view candidate : names) {
    const size_t d = EditDistance(name, candidate);
    if (d < distance) {
      distance = d;
      nearest = candidate;
    }
  }
  return nearest.empty() ? std::string() : "; did you mean `" + std::string(nearest) + "`?";
}

}  // namespace oncemq
