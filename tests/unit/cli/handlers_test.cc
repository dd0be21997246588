// SPDX-License-Identifier: Apache-2.0
#include "handlers.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "oncemq/base/bytes.h"
#include "service_commands.h"

namespace oncemq {
namespace {

class PrintedMessage final : public Message {
 public:
  std::string_view topic() const override { return "payments"; }
  int32_t partition() const override { return 3; }
  int64_t offset() const override { return 17; }
  int64_t timestamp_ms() const override { return -1; }
  std::optional<std::string_view> key() const override { return {}; }
  std::optional<std::string_view> value() const override { return {}; }
  std::optional<std::string_view> header(std::string_view) const override { return {}; }
  std::vector<MessageHeader> headers() const override { return {}; }
};

TEST(PrintHandler, SaysThatACallIsUncertain) {
  const Handler print = PrintHandler([] { FAIL() << "standard output is closed"; });
  ::testing::internal::CaptureStdout();
  for (const bool uncertain : {false, true}) {
    Context context("pay-1", {0xABC, 1}, 0, 1, uncertain, std::stop_token());
    EXPECT_TRUE(std::holds_alternative<Done>(print(PrintedMessage(), context)));
  }
  const std::string line = "{\"id\":\"pay-1\",\"topic\":\"payments\",\"partition\":3,\"offset\":17";
  EXPECT_EQ(::testing::internal::GetCapturedStdout(),
            line + "}\n" + line + ",\"uncertain\":true}\n");
}

TEST(PrintedLine, IsOneObjectWithTheIdAsText) {
  EXPECT_EQ(PrintedLine("pay-1", "payments", 3, 17),
            "{\"id\":\"pay-1\",\"topic\":\"payments\",\"partition\":3,\"offset\":17}\n");
  EXPECT_EQ(nlohmann::json::parse(PrintedLine("\"\u00e4\xef\xbf\xbd\"", "t", 0, 0))["id"],
            "\"\u00e4\xef\xbf\xbd\"")
      << "text of any language";
}

TEST(PrintedLine, ShowsBytesThatAreNoPlainTextAsHexDigits) {
  std::set<std::string> lines;
  for (const std::string& id : {std::string("\xff\xfe\x80"), std::string("\xff\xfe\x81"),
                                std::string("a\0b", 3), std::string("a\x1b"), std::string("\x7f"),
                                std::string("\xc0\x80"), std::string("\xed\xa0\x80")}) {
    const std::string text = PrintedLine(id, "t", 0, 0);
    lines.insert(text);
    const auto line = nlohmann::json::parse(text);
    EXPECT_FALSE(line.contains("id")) << text;
    EXPECT_EQ(BytesOfHex(line["id_hex"].get<std::string>()), id) << text;
  }
  EXPECT_EQ(lines.size(), 7u) << "different ids look different";
}

}  // namespace
}  // namespace oncemq
