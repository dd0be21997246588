// SPDX-License-Identifier: Apache-2.0
#include "handlers.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "oncemq/base/bytes.h"
#include "service_commands.h"

namespace oncemq {
namespace {

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
