// SPDX-License-Identifier: Apache-2.0
// GenerationMemory: divides the memory for finished ids that are not in the history yet among the
// open stores of a process.
//
// Promise: the shares of the stores add up to the budget at most, or to two kLeast for each store
// where that is more. Half of a share is for the generation that fills, half for the one that is
// put away. A share falls when another store is opened; a store looks at its share with each batch
// that finishes ids and with each commit, and puts away the excess. Nothing is forgotten by that:
// an id leaves memory once the history has it on the disk.
//
// Limits: a generation exceeds its half by one batch at most.
//
// Thread safety: any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "oncemq/base/check.h"

namespace oncemq {

class GenerationMemory {
 public:
  static constexpr uint64_t kLeast = 256 << 10;  // bytes of a generation

  explicit GenerationMemory(uint64_t bytes) : bytes_(bytes) {}

  uint64_t OfGeneration() const {
    const uint64_t stores = std::max(1u, stores_.load(std::memory_order_relaxed));
    return std::max(kLeast, bytes_ / stores / 2);
  }

  // An open store's.
  class Share {
   public:
    // Without a memory it has no bound.
    explicit Share(std::shared_ptr<GenerationMemory> memory = nullptr)
        : memory_(std::move(memory)) {
      if (memory_ != nullptr) {
        memory_->stores_++;
      }
    }
    ~Share() {
      if (memory_ != nullptr) {
        const uint32_t were = memory_->stores_--;
        ONCEMQ_CHECK(were > 0, "each store takes its share once, and gives it back once");
      }
    }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    uint64_t OfGeneration() const {
      return memory_ == nullptr ? UINT64_MAX : memory_->OfGeneration();
    }

   private:
    const std::shared_ptr<GenerationMemory> memory_;
  };

 private:
  const uint64_t bytes_;
  std::atomic<uint32_t> stores_{0};
};

}  // namespace oncemq
