// SPDX-License-Identifier: Apache-2.0
// Two operations are the same one by their contents.
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/type.pb.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "oncemq/gate/http_gate.h"
#include "protobuf/protobuf_contents.h"

namespace oncemq {
namespace {

TEST(ContentsTest, FieldsHaveNoOrderAndNumbersNoSpelling) {
  const auto fields = [](Contents::Value number) {
    return Contents::OfFields({{"number", std::move(number)}}).canonical();
  };
  EXPECT_EQ(fields(10), fields(10.0));
  EXPECT_EQ(fields(10), fields(1e1));
  EXPECT_EQ(fields(0.0), fields(-0.0));
  EXPECT_EQ(fields(0.1), fields(0.1000));
  EXPECT_EQ(fields(std::nan("1")), fields(-std::nan("2")));
  EXPECT_NE(fields(0.1), fields(std::nextafter(0.1, 1.0)));
  EXPECT_NE(fields(10), fields("10"));
  EXPECT_NE(fields(true), fields(1));
  EXPECT_NE(fields(std::numeric_limits<int64_t>::max()),
            fields(std::numeric_limits<int64_t>::max() - 1));
  constexpr int64_t kLarge = int64_t{1} << 60;  // doubles are 256 apart there
  EXPECT_EQ(fields(kLarge), fields(static_cast<double>(kLarge)));
  EXPECT_NE(fields(kLarge + 1), fields(static_cast<double>(kLarge + 1)));
  EXPECT_EQ(fields(std::numeric_limits<int64_t>::min()), fields(-0x1p63));
}

TEST(ContentsTest, NoTwoListsOfPartsLookAlike) {
  const std::set<std::string> all{
      Contents::OfBytes("").canonical(),
      Contents::OfFields({}).canonical(),
      Contents::OfFields({{"a", "bc"}}).canonical(),
      Contents::OfFields({{"ab", "c"}}).canonical(),
      Contents::OfFields({{"a", "b"}, {"c", ""}}).canonical(),
      Contents::OfFields({{"a", ""}, {"b", "c"}}).canonical(),
      Contents::OfFields({{"", "a"}, {"b", "c"}}).canonical(),
      Contents::OfBytes(Contents::OfFields({{"a", "bc"}}).canonical().substr(1)).canonical(),
  };
  EXPECT_EQ(all.size(), 8u);
}

TEST(ContentsTest, TheDigestIsSha256) {
  const ContentsDigest digest = DigestOf(Contents::OfBytes(""));  // of "B"
  EXPECT_EQ(digest[0], 0xdf);
  EXPECT_EQ(digest[31], 0x5c);
}

TEST(ContentsTest, NamedFieldsOfAMessage) {
  google::protobuf::Field message;
  message.set_name("cents");
  message.set_number(7);
  message.set_packed(true);
  message.add_options()->set_name("one");
  const auto contents = ContentsOf(message, {"number", "name", "packed", "options"});
  ASSERT_TRUE(contents);
  google::protobuf::Field same = message;
  same.set_json_name("not named");
  EXPECT_EQ(contents->canonical(),
            ContentsOf(same, {"options", "packed", "name", "number"})->canonical());
  same.add_options()->set_name("two");
  EXPECT_NE(contents->canonical(),
            ContentsOf(same, {"number", "name", "packed", "options"})->canonical());
  EXPECT_FALSE(ContentsOf(message, {"no such"}));
  EXPECT_FALSE(ContentsOf(google::protobuf::Struct(), {"fields"})) << "a map has no order";
}

TEST(IdempotencyKey, IsBareOrInQuotes) {
  const auto key = [](const std::string& field) { return IdempotencyKeyOf({field}); };
  EXPECT_EQ(*key("8e03978e-40d5"), "8e03978e-40d5");
  EXPECT_EQ(*key("\"8e03978e-40d5\""), "8e03978e-40d5");
  EXPECT_EQ(*key(" \t\"a \\\"b\\\\\" "), "a \"b\\");
  EXPECT_EQ(key("\"" + std::string(255, 'k') + "\"")->size(), 255u);
  for (const std::string& wrong :
       {std::string(), std::string("\"\""), std::string("\""), std::string("\"a"),
        std::string("a\""), std::string("a b"), std::string("\"a\";p=1"), std::string("\"a\\n\""),
        std::string("a,b"), std::string("\"\x7f\""), std::string("\xc3\xa4"), std::string("a\nb"),
        std::string(256, 'k'), "\"" + std::string(299, ' ') + "\""}) {
    EXPECT_FALSE(key(wrong)) << wrong;
  }
  EXPECT_FALSE(IdempotencyKeyOf({}));
  EXPECT_FALSE(IdempotencyKeyOf({"a", "a"}));
}

}  // namespace
}  // namespace oncemq
