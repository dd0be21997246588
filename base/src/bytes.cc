// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/bytes.h"

#include <array>
#include <charconv>

namespace oncemq {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> MakeBase64Values() {
  std::array<int8_t, 256> values{};
  values.fill(-1);
  for (size_t i = 0; i < kBase64.size(); i++) {
    values[static_cast<unsigned char>(kBase64[i])] = static_cast<int8_t>(i);
  }
  return values;
}

constexpr std::array<uint32_t, 256> MakeCrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
    }
    table[i] = crc;
  }
  return table;
}

}  // namespace

void AppendVarint(std::string& out, uint64_t value) {
  while (value >= 128) {
    out.push_back(static_cast<char>(value | 128));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

std::optional<uint64_t> ByteReader::Varint() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (bytes_.empty()) {
      return std::nullopt;
    }
    const auto byte = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    if (shift == 63 && byte > 1) {
      break;  // would not fit into 64 bits
    }
    value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) {
      return value;
    }
  }
  bytes_ = {};
  return std::nullopt;
}

std::string Base64Encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() * 4 + 2) / 3);
  uint32_t buffer = 0;
  unsigned bits = 0;
  for (const char c : bytes) {
    buffer = (buffer << 8) | static_cast<unsigned char>(c);
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      out.push_back(kBase64[(buffer >> bits) & 63]);
    }
  }
  if (bits > 0) {
    out.push_back(kBase64[(buffer << (6 - bits)) & 63]);
  }
  return out;
}

std::optional<std::string> Base64Decode(std::string_view text) {
  static constexpr auto kValues = MakeBase64Values();
  if (text.size() % 4 == 1) {
    return std::nullopt;
  }
  std::string out;
  out.reserve(text.size() * 3 / 4);
  uint32_t buffer = 0;
  unsigned bits = 0;
  for (const char c : text) {
    const int8_t value = kValues[static_cast<unsigned char>(c)];
    if (value < 0) {
      return std::nullopt;
    }
    buffer = (buffer << 6) | static_cast<uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out.push_back(static_cast<char>((buffer >> bits) & 255));
    }
  }
  if ((buffer & ((1u << bits) - 1)) != 0) {
    return std::nullopt;  // two texts must never mean the same bytes
  }
  return out;
}

std::string Hex(uint64_t value) {
  std::string out(16, '0');
  for (size_t i = 16; i-- > 0; value >>= 4) {
    out[i] = "0123456789abcdef"[value & 15];
  }
  return out;
}

std::optional<uint64_t> ParseHex(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

std::string HexOfBytes(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    out += Hex(static_cast<unsigned char>(c)).substr(14);
  }
  return out;
}

std::optional<std::string> BytesOfHex(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i += 2) {
    const std::string_view pair = text.substr(i, 2);
    const std::optional<uint64_t> byte = pair.size() == 2 ? ParseHex(pair) : std::nullopt;
    if (!byte) {
      return std::nullopt;
    }
    out.push_back(static_cast<char>(*byte));
  }
  return out;
}

std::optional<int64_t> ParseDecimal(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 10);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

uint32_t Crc32c(std::string_view bytes) {
  static constexpr auto kTable = MakeCrcTable();
  uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 255] ^ (crc >> 8);
  }
  return ~crc;
}

}  // namespace oncemq
