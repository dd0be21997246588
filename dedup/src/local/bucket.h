// SPDX-License-Identifier: Apache-2.0
// Bucket: what a history knows of some finished ids that lie on disk together, and its row among
// the facts (docs/formats.md).
//
// Promise: decoding is total; what is no row of ours is nothing.
//
// Thread safety: none needed, values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "id_filter.h"
#include "oncemq/dedup/window.h"
#include "reach.h"

namespace oncemq {

struct Bucket {
  uint32_t number = 0;
  uint32_t pages = 0;
  uint64_t ids = 0;
  LogTime newest = kNoLogTime;  // of the times that its ids are filed under
  int64_t base = 0;             // from which its pages count offsets
  Reach reach;
  IdFilter filter;
  LogTime oldest = kNoLogTime;  // `newest` of the oldest generation in it
  uint32_t filter_rows = 0;     // of a merged one, behind its pages
  enum class Going : uint8_t { kNo, kForgotten, kMerged } going = Going::kNo;
};

inline constexpr std::string_view kFactsPrefix = "bucket/";
inline constexpr std::string_view kFactsEnd = "bucket0";  // '0' follows '/'

std::string FactsKey(uint32_t number);
std::string EncodeFacts(const Bucket& bucket);
// The filter of a merged one is read from its own rows, and empty here.
std::optional<Bucket> DecodeFacts(std::string_view key, std::string_view facts);

}  // namespace oncemq
