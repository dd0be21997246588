// SPDX-License-Identifier: Apache-2.0
#include "bucket.h"

#include <utility>

#include "families.h"
#include "oncemq/base/bytes.h"
#include "sealed_row.h"

namespace oncemq {
namespace {

constexpr uint64_t kFactsVersion = 1;   // its filter stands in them
constexpr uint64_t kMergedVersion = 2;  // behind the pages

LogTime FromCount(uint64_t count) {
  return LogTime(milliseconds(static_cast<int64_t>(count)));
}

uint64_t ToCount(LogTime time) {
  return static_cast<uint64_t>(time.time_since_epoch().count());
}

// What follows the reach.
bool ReadFilterOf(uint64_t version, ByteReader& reader, Bucket& bucket) {
  if (version == kMergedVersion) {
    const auto oldest = reader.Varint();
    const auto rows = reader.Varint();
    if (!rows || *oldest > ToCount(bucket.newest) || *rows == 0 ||
        *rows > UINT32_MAX - bucket.pages || !reader.empty()) {
      return false;
    }
    bucket.oldest = FromCount(*oldest);
    bucket.filter_rows = static_cast<uint32_t>(*rows);
    return true;
  }
  const auto bytes = reader.Varint();
  auto filter =
      bytes && *bytes == reader.rest().size() ? IdFilter::FromBytes(reader.rest()) : std::nullopt;
  if (version != kFactsVersion || !filter) {
    return false;
  }
  bucket.oldest = bucket.newest;
  bucket.filter = *std::move(filter);
  return true;
}

}  // namespace

std::string FactsKey(uint32_t number) {
  std::string key(kFactsPrefix);
  AppendKey(key, number, 4);
  return key;
}

std::string EncodeFacts(const Bucket& bucket) {
  const bool merged = bucket.filter_rows > 0;
  std::string facts;
  AppendVarint(facts, merged ? kMergedVersion : kFactsVersion);
  AppendVarint(facts, bucket.pages);
  AppendVarint(facts, bucket.ids);
  AppendVarint(facts, ToCount(bucket.newest));
  AppendVarint(facts, static_cast<uint64_t>(bucket.base));
  bucket.reach.Encode(facts);
  if (merged) {
    AppendVarint(facts, ToCount(bucket.oldest));
    AppendVarint(facts, bucket.filter_rows);
    return Seal(std::move(facts));
  }
  AppendVarint(facts, bucket.filter.bytes().size());
  facts += bucket.filter.bytes();
  return Seal(std::move(facts));
}

std::optional<Bucket> DecodeFacts(std::string_view key, std::string_view facts) {
  const auto content = Unseal(facts);
  if (!content || key.size() != kFactsPrefix.size() + 4) {
    return std::nullopt;
  }
  ByteReader reader(*content);
  const auto version = reader.Varint();
  const auto pages = reader.Varint();
  const auto ids = reader.Varint();
  const auto newest = reader.Varint();
  const auto base = reader.Varint();
  auto reach = base ? Reach::Decode(reader) : std::nullopt;
  if (!version || !pages || *pages == 0 || *pages > UINT32_MAX || !ids || !newest ||
      *newest > INT64_MAX || !reach) {
    return std::nullopt;
  }
  Bucket bucket{.number = static_cast<uint32_t>(*ReadKey(key, kFactsPrefix.size(), 4)),
                .pages = static_cast<uint32_t>(*pages),
                .ids = *ids,
                .newest = FromCount(*newest),
                .base = static_cast<int64_t>(*base),
                .reach = *std::move(reach),
                .filter = IdFilter(0)};
  return ReadFilterOf(*version, reader, bucket) ? std::optional(std::move(bucket)) : std::nullopt;
}

}  // namespace oncemq
