// SPDX-License-Identifier: Apache-2.0
#include "stored_answer.h"

#include "oncemq/base/bytes.h"

namespace oncemq {

std::string EncodeAnswer(const StoredAnswer& answer) {
  std::string bytes;
  AppendVarint(bytes, static_cast<uint64_t>(answer.kind));
  AppendVarint(bytes, static_cast<uint64_t>(answer.until_micros));
  AppendVarint(bytes, answer.digest);
  bytes += answer.result;
  return bytes;
}

std::optional<StoredAnswer> DecodeAnswer(std::string_view bytes) {
  ByteReader reader(bytes);
  const auto kind = reader.Varint();
  const auto until = reader.Varint();
  const auto digest = reader.Varint();
  if (!digest || *kind < 1 || *kind > 4 || *until > INT64_MAX) {
    return std::nullopt;
  }
  return StoredAnswer{static_cast<StoredAnswer::Kind>(*kind), static_cast<int64_t>(*until), *digest,
                      reader.rest()};
}

}  // namespace oncemq
