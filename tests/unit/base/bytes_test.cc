// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/bytes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace oncemq {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

// Integers of every width: plain random ones are nearly always ten bytes long.
rc::Gen<uint64_t> AnyWidth() {
  return rc::gen::apply(
      [](uint64_t value, int bits) { return bits == 0 ? 0 : value >> (64 - bits); },
      rc::gen::arbitrary<uint64_t>(), rc::gen::inRange(0, 65));
}

RC_GTEST_PROP(Varint, ReadsBackWhatWasWritten, ()) {
  const auto values = *rc::gen::container<std::vector<uint64_t>>(AnyWidth());
  std::string bytes;
  for (const uint64_t value : values) {
    AppendVarint(bytes, value);
  }
  ByteReader reader(bytes);
  for (const uint64_t value : values) {
    RC_ASSERT(reader.Varint() == value);
  }
  RC_ASSERT(reader.empty());
}

RC_GTEST_PROP(Varint, TakesOneByteForEachSevenBits, ()) {
  const uint64_t value = *AnyWidth();
  std::string bytes;
  AppendVarint(bytes, value);
  size_t wanted = 1;
  for (uint64_t rest = value >> 7; rest != 0; rest >>= 7) {
    wanted++;
  }
  RC_ASSERT(bytes.size() == wanted);
}

// So that a decoder may read several values, and ask the last one whether all are there.
TEST(Varint, BehindOneThatDoesNotFitNothingIsReadAnyMore) {
  ByteReader reader("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02\x07\x08"sv);
  EXPECT_FALSE(reader.Varint());
  EXPECT_FALSE(reader.Varint());
  EXPECT_TRUE(reader.rest().empty());
}

RC_GTEST_PROP(Varint, ATruncatedOneIsNoValue, ()) {
  const uint64_t value = *AnyWidth();
  std::string bytes;
  AppendVarint(bytes, value);
  bytes.pop_back();
  RC_ASSERT(!ByteReader(bytes).Varint());
}

RC_GTEST_PROP(Varint, ReadingAnyBytesEnds, (const std::string& bytes)) {
  ByteReader reader(bytes);
  size_t read = 0;
  while (reader.Varint()) {
    read++;
  }
  RC_ASSERT(read <= bytes.size());
}

TEST(Varint, TheLargestValueTakesTenBytes) {
  std::string bytes;
  AppendVarint(bytes, kMax);
  EXPECT_EQ(bytes.size(), 10u);
  EXPECT_EQ(ByteReader(bytes).Varint(), kMax);
}

TEST(Varint, WhatDoesNotFitIntoSixtyFourBitsIsNoValue) {
  const std::string nine_full(9, '\xFF');
  EXPECT_EQ(ByteReader(nine_full + '\x01').Varint(), kMax);
  EXPECT_FALSE(ByteReader(nine_full + '\x02').Varint());
  EXPECT_FALSE(ByteReader(nine_full + "\xFF\x01").Varint());
}

TEST(Varint, NothingIsNoValue) {
  EXPECT_FALSE(ByteReader("").Varint());
}

RC_GTEST_PROP(Base64, DecodesWhatItEncoded, (const std::string& bytes)) {
  RC_ASSERT(Base64Decode(Base64Encode(bytes)) == bytes);
}

RC_GTEST_PROP(Base64, OneTextIsTheOnlyOneForItsBytes, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf("AQgw+/_=\n"s));
  const std::optional<std::string> bytes = Base64Decode(text);
  if (bytes) {
    RC_ASSERT(Base64Encode(*bytes) == text);
  }
}

TEST(Base64, AgreesWithTheStandard) {
  constexpr std::array<std::array<std::string_view, 2>, 7> kCases{{{"", ""},
                                                                   {"f", "Zg"},
                                                                   {"fo", "Zm8"},
                                                                   {"foo", "Zm9v"},
                                                                   {"foob", "Zm9vYg"},
                                                                   {"fooba", "Zm9vYmE"},
                                                                   {"foobar", "Zm9vYmFy"}}};
  for (const auto& [bytes, text] : kCases) {
    EXPECT_EQ(Base64Encode(bytes), text);
    EXPECT_EQ(Base64Decode(text), bytes);
  }
}

TEST(Base64, KeepsEveryByteValue) {
  std::string bytes;
  for (int value = 0; value < 256; value++) {
    bytes.push_back(static_cast<char>(value));
  }
  EXPECT_EQ(Base64Decode(Base64Encode(bytes)), bytes);
}

TEST(Base64, RefusesPaddingAndForeignCharacters) {
  constexpr std::string_view kBad[] = {"Zg==", "Zm8=", "Zm 9",    "Zm\n9",
                                       "Zm-_", "-Zm8", "\0AAA"sv, "\xC3\xA4"};
  for (const std::string_view text : kBad) {
    EXPECT_FALSE(Base64Decode(text)) << text;
  }
}

TEST(Base64, RefusesALengthThatNoBytesHave) {
  EXPECT_FALSE(Base64Decode("A"));
  EXPECT_FALSE(Base64Decode("AAAAA"));
}

TEST(Base64, RefusesASecondTextForTheSameBytes) {
  EXPECT_TRUE(Base64Decode("Zg"));
  EXPECT_FALSE(Base64Decode("Zh"));
  EXPECT_FALSE(Base64Decode("Zm9"));
}

RC_GTEST_PROP(Hex, ReadsBackWhatWasWritten, ()) {
  const uint64_t value = *AnyWidth();
  RC_ASSERT(Hex(value).size() == 16u);
  RC_ASSERT(ParseHex(Hex(value)) == value);
}

TEST(Hex, TakesShortAndUpperCaseText) {
  EXPECT_EQ(ParseHex("0"), 0u);
  EXPECT_EQ(ParseHex("fF"), 255u);
}

TEST(Hex, RefusesWhatIsNoNumberOrTooLarge) {
  for (const std::string_view text :
       {"", " 1", "1 ", "0x1", "-1", "+1", "g", "10000000000000000"}) {
    EXPECT_FALSE(ParseHex(text)) << text;
  }
}

RC_GTEST_PROP(Decimal, ReadsBackWhatWasWritten, (int64_t value)) {
  RC_ASSERT(ParseDecimal(std::to_string(value)) == value);
}

TEST(Decimal, KnowsItsLimits) {
  EXPECT_EQ(ParseDecimal("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(ParseDecimal("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_FALSE(ParseDecimal("9223372036854775808"));
  EXPECT_FALSE(ParseDecimal("-9223372036854775809"));
}

TEST(Decimal, RefusesWhatIsNoNumber) {
  for (const std::string_view text : {"", "-", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "\xD9\xA1"}) {
    EXPECT_FALSE(ParseDecimal(text)) << text;
  }
}

TEST(Crc32c, AgreesWithPublishedValues) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(Crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
}

RC_GTEST_PROP(Crc32c, NoticesEverySingleFlippedBit, ()) {
  std::string bytes = *rc::gen::nonEmpty<std::string>();
  const uint32_t before = Crc32c(bytes);
  const size_t at = *rc::gen::inRange<size_t>(0, bytes.size());
  bytes[at] = static_cast<char>(bytes[at] ^ (1 << *rc::gen::inRange(0, 8)));
  RC_ASSERT(Crc32c(bytes) != before);
}

}  // namespace
}  // namespace oncemq
