// SPDX-License-Identifier: Apache-2.0
// Numbers of a fixed size in a text, highest byte first, as the scripts pack them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace oncemq {

void AppendPacked(std::string& out, uint64_t value, size_t bytes);

// Reads from the front of a view. Once something is missing all that follows is 0 and empty, and
// good() is false.
//
// Thread safety: none needed, a value type.
class PackedReader {
 public:
  explicit PackedReader(std::string_view bytes) : rest_(bytes) {}
  uint64_t Number(size_t bytes);
  std::string_view Bytes(size_t bytes);
  std::string_view rest() const { return rest_; }
  bool good() const { return good_; }

 private:
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace oncemq
