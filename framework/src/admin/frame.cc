// SPDX-License-Identifier: Apache-2.0
#include "frame.h"

#include <algorithm>

#include "oncemq/base/check.h"

namespace oncemq {

std::string Framed(std::string_view body) {
  ONCEMQ_CHECK(body.size() <= kMostAnswer, "who makes a body keeps its limit");
  std::string out;
  out.reserve(kFrameHead + body.size());
  for (int shift = 24; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(body.size() >> shift & 0xFF));
  }
  return out.append(body);
}

size_t FrameReader::announced() const {
  if (bytes_.size() < kFrameHead) {
    return 0;
  }
  size_t length = 0;
  for (size_t i = 0; i < kFrameHead; i++) {
    length = length << 8 | static_cast<unsigned char>(bytes_[i]);
  }
  return length;
}

FrameReader::State FrameReader::Take(std::string_view bytes) {
  const size_t of_head = std::min(bytes.size(), kFrameHead - std::min(kFrameHead, bytes_.size()));
  bytes_.append(bytes.substr(0, of_head));
  bytes.remove_prefix(of_head);
  if (bytes_.size() < kFrameHead) {
    return State::kPartial;
  }
  const size_t whole = kFrameHead + announced();
  if (whole > kFrameHead + most_) {
    return State::kTooLong;
  }
  bytes_.append(bytes.substr(0, whole - bytes_.size()));
  return bytes_.size() == whole ? State::kComplete : State::kPartial;
}

}  // namespace oncemq
