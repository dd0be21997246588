// SPDX-License-Identifier: Apache-2.0
// Bytes in and out: varints, base64, hex, checksums, and a reader that cannot run past its end.
// Every decoder here is total: any input gives a value or "no", never undefined behaviour.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace oncemq {

void AppendVarint(std::string& out, uint64_t value);

// Reads from the front of a view it does not own. Once a value could not be read none is any more,
// so whoever reads several may ask the last one whether all are there.
//
// Thread safety: none needed, a value type.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  std::optional<uint64_t> Varint();
  // What was not read yet.
  std::string_view rest() const { return bytes_; }

 private:
  std::string_view bytes_;
};

// Base64 with the standard alphabet and no padding: text that survives every client's commit
// metadata.
std::string Base64Encode(std::string_view bytes);
std::optional<std::string> Base64Decode(std::string_view text);

std::string Hex(uint64_t value);
std::optional<uint64_t> ParseHex(std::string_view text);
// Two digits for each byte.
std::string HexOfBytes(std::string_view bytes);
std::optional<std::string> BytesOfHex(std::string_view text);
std::optional<int64_t> ParseDecimal(std::string_view text);

// CRC-32C (Castagnoli): finds damage, proves nothing about origin.
uint32_t Crc32c(std::string_view bytes);

}  // namespace oncemq
