// SPDX-License-Identifier: Apache-2.0
// What the large tests of windows share: many ids, and what they take.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "oncemq/dedup/window.h"

namespace oncemq {

inline size_t ResidentBytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  size_t kb = 0;
  while (status >> word) {
    if (word == "VmRSS:") {
      status >> kb;
    }
  }
  return kb << 10;
}

inline std::string Short(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "id-%012llu", static_cast<unsigned long long>(number));
  return text;
}

// Claims and completes ids by their numbers [begin, end), in batches.
class Asker {
 public:
  using IdOf = std::string (*)(uint64_t);

  Asker(Window& window, IdOf id_of) : window_(window), id_of_(id_of) {}

  // How many of the answers are `expected`. Grants stay open.
  uint64_t Claim(uint64_t begin, uint64_t end, ClaimVerdict expected) {
    uint64_t count = 0;
    ForBatches(begin, end, [&](uint64_t first) {
      std::vector<ClaimRequest> requests;
      for (size_t i = 0; i < ids_.size(); i++) {
        requests.push_back({ids_[i], {attempt_, first + i + 1}, At(first + i), 0, 0});
      }
      std::vector<ClaimAnswer> answers(requests.size());
      ASSERT_TRUE(window_.Claim(requests, answers).has_value());
      for (const ClaimAnswer& answer : answers) {
        count += answer.answer == expected ? 1 : 0;
      }
    });
    return count;
  }

  // How many were open under the tokens of the last Claim().
  uint64_t Complete(uint64_t begin, uint64_t end) {
    uint64_t count = 0;
    ForBatches(begin, end, [&](uint64_t first) {
      std::vector<CompleteRequest> requests;
      for (size_t i = 0; i < ids_.size(); i++) {
        requests.push_back({ids_[i], {attempt_, first + i + 1}, At(first + i), {}});
      }
      std::vector<MarkerChange> changes(requests.size());
      ASSERT_TRUE(window_.Complete(requests, changes).has_value());
      for (const MarkerChange change : changes) {
        count += change == MarkerChange::kMade ? 1 : 0;
      }
    });
    return count;
  }

  void NextAttempt() { attempt_++; }

 private:
  static constexpr size_t kBatch = 500;

  template <class Do>
  void ForBatches(uint64_t begin, uint64_t end, Do act) {
    for (uint64_t first = begin; first < end; first += kBatch) {
      ids_.clear();
      for (uint64_t number = first; number < std::min<uint64_t>(end, first + kBatch); number++) {
        ids_.push_back(id_of_(number));
      }
      act(first);
    }
  }
  static Coordinates At(uint64_t number) {
    return {0, static_cast<int32_t>(number % 8), static_cast<int64_t>(number)};
  }

  Window& window_;
  const IdOf id_of_;
  uint64_t attempt_ = 1;
  std::vector<std::string> ids_;
};

}  // namespace oncemq
