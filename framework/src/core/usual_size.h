// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace oncemq {

// The bytes of one message, lately. It follows larger ones at once and smaller ones slowly.
class UsualSize {
 public:
  // A guess lets a few messages in at first.
  explicit UsualSize(uint64_t guess) : bytes_(guess) {}

  void Learn(uint64_t bytes, size_t messages) {
    const uint64_t mean = std::max<uint64_t>(1, bytes / messages);
    if (!known_ || mean > bytes_) {
      bytes_ = mean;
    } else {
      bytes_ -= (bytes_ - mean) / 8;
    }
    known_ = true;
  }
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_;
  bool known_ = false;
};

}  // namespace oncemq
