// SPDX-License-Identifier: Apache-2.0
#include "packed.h"

namespace oncemq {

void AppendPacked(std::string& out, uint64_t value, size_t bytes) {
  for (size_t i = bytes; i > 0; i--) {
    out.push_back(static_cast<char>(value >> (8 * (i - 1))));
  }
}

uint64_t PackedReader::Number(size_t bytes) {
  uint64_t value = 0;
  for (const char byte : Bytes(bytes)) {
    value = value << 8 | static_cast<unsigned char>(byte);
  }
  return value;
}

std::string_view PackedReader::Bytes(size_t bytes) {
  good_ = good_ && bytes <= rest_.size();
  const std::string_view taken = good_ ? rest_.substr(0, bytes) : std::string_view();
  rest_.remove_prefix(taken.size());
  return taken;
}

}  // namespace oncemq
