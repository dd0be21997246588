// SPDX-License-Identifier: Apache-2.0
#include "known_row.h"

#include <utility>

#include "sealed_row.h"

namespace oncemq {
namespace {

constexpr uint64_t kRowVersion = 1;

}  // namespace

std::string EncodeKnown(const Announcement& announcement) {
  std::string row;
  for (const uint64_t number :
       {kRowVersion, static_cast<uint64_t>(announcement.from),
        static_cast<uint64_t>(announcement.to), static_cast<uint64_t>(announcement.offset)}) {
    AppendVarint(row, number);
  }
  row += announcement.metadata;
  return Seal(std::move(row));
}

std::optional<StoreKnowledge> DecodeKnown(std::string_view row) {
  const auto content = Unseal(row);
  if (!content) {
    return std::nullopt;
  }
  ByteReader reader(*content);
  if (reader.Varint() != kRowVersion) {
    return std::nullopt;
  }
  const auto from = reader.Varint();
  const auto to = reader.Varint();
  const auto offset = reader.Varint();
  if (!offset || *offset > INT64_MAX || *to > INT64_MAX || *from > *to) {
    return std::nullopt;
  }
  StoreKnowledge known;
  known.from = static_cast<int64_t>(*from);
  known.to = static_cast<int64_t>(*to);
  known.offset = static_cast<int64_t>(*offset);
  known.metadata = reader.rest();
  return known;
}

}  // namespace oncemq
