// SPDX-License-Identifier: Apache-2.0
// A frame of the admin protocol: four bytes of length, highest first, then so many bytes
// (docs/formats.md).
//
// Promise: FrameReader is total and holds no more than has come in, at most the limit; it believes
// no announced length.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace oncemq {

inline constexpr size_t kFrameHead = 4;
inline constexpr size_t kMostRequest = 64 << 10;
inline constexpr size_t kMostAnswer = 16 << 20;

// `body` has at most kMostAnswer bytes.
std::string Framed(std::string_view body);

class FrameReader {
 public:
  explicit FrameReader(size_t most) : most_(most) {}

  enum class State : uint8_t { kPartial, kComplete, kTooLong };
  // Bytes as they come; those behind the frame are dropped.
  State Take(std::string_view bytes);
  // How many bytes the body has, once the head is there.
  size_t announced() const;
  // With kComplete.
  std::string_view body() const { return std::string_view(bytes_).substr(kFrameHead); }
  size_t taken() const { return bytes_.size(); }

 private:
  size_t most_;
  std::string bytes_;
};

}  // namespace oncemq
