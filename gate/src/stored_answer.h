// SPDX-License-Identifier: Apache-2.0
// The result of a finished operation as the window keeps it. Decoding is total.
//
// Thread safety: none needed, values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace oncemq {

struct StoredAnswer {
  enum class Kind : uint8_t {
    kResult = 1,
    kFinished = 2,    // without a result
    kApplied = 3,     // by an operator's word
    kNotApplied = 4,  // likewise; it is forgotten at once
  };
  Kind kind = Kind::kFinished;
  int64_t until_micros = 0;  // of the result, in wall time; 0: no end of its own
  uint64_t digest = 0;       // a part of the contents' digest; 0: there were none
  std::string_view result;
};

std::string EncodeAnswer(const StoredAnswer& answer);
std::optional<StoredAnswer> DecodeAnswer(std::string_view bytes);

}  // namespace oncemq
