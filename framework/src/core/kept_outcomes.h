// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "delivery.h"

namespace oncemq {

inline bool IsDecided(Stage stage) {
  return stage == Stage::kApplied || stage == Stage::kRejecting || stage == Stage::kRecorded;
}

struct KeptOutcome {
  std::string text;
  uint64_t entry = 0;
  Attempts attempts;
  bool drop = false;  // of a redriven message, like the next
  bool first = false;
};

// The things that few deliveries keep from batch to batch. They are the outcome of a decided one,
// failed attempts, and the way to run a redriven one.
class KeptOutcomes {
 public:
  KeptOutcome& operator[](uint32_t slot) { return kept_[slot]; }
  void Forget(uint32_t slot) {
    if (!kept_.empty()) [[unlikely]] {
      kept_.erase(slot);
    }
  }
  void Fill(const Delivery& delivery, BatchItem& item) const {
    item.carried() = delivery.carried;
    if (kept_.empty()) {
      return;
    }
    if (const auto kept = kept_.find(item.slot); kept != kept_.end()) {
      item.attempts = kept->second.attempts;
      item.text = kept->second.text;
      item.entry = kept->second.entry;
      item.drop = kept->second.drop;
      item.first |= kept->second.first;
    }
    item.attempts.made = delivery.attempt;
  }
  uint32_t FailedOf(uint32_t slot) const {
    const auto kept = kept_.find(slot);
    return kept == kept_.end() ? 0 : kept->second.attempts.failed;
  }
  auto begin() const { return kept_.begin(); }
  auto end() const { return kept_.end(); }

 private:
  std::unordered_map<uint32_t, KeptOutcome> kept_;  // by slot
};

}  // namespace oncemq
