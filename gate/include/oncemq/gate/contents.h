// SPDX-License-Identifier: Apache-2.0
// Contents: the identity of an operation, in one canonical form.
//
//   Contents::OfFields({{"account", "17"}, {"cents", 1250}, {"rate", 0.5}})
//
// Promise: fields that are equal give equal bytes, in any order and however a number was spelled
// (10, 10.0 and 1e1 are one number; "10" is a text). Different fields give different bytes: each
// part stands after its length.
//
// Thread safety: none needed, a value.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

namespace oncemq {

class Contents {
 public:
  using Value = std::variant<std::string, int64_t, double, bool>;
  using Fields = std::map<std::string, Value, std::less<>>;

  // Nothing: for an operation that its key alone names.
  Contents() = default;
  static Contents OfBytes(std::string_view bytes);
  static Contents OfFields(const Fields& fields);

  const std::string& canonical() const { return canonical_; }

 private:
  std::string canonical_;
};

// SHA-256.
using ContentsDigest = std::array<unsigned char, 32>;
ContentsDigest DigestOf(const Contents& contents);

}  // namespace oncemq
