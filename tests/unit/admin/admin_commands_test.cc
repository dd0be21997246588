// SPDX-License-Identifier: Apache-2.0
#include "admin_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frame.h"
#include "oncemq/base/log.h"
#include "support/log_file.h"

namespace oncemq {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using oncemq::testing::LogFile;
using ::testing::HasSubstr;
using ::testing::Not;

class AdminCommandsTest : public ::testing::Test {
 protected:
  AdminCommandsTest() {
    commands_.Add({.name = "look", .run = [this](const json& arguments) -> Result<ordered_json> {
                     calls_++;
                     return ordered_json{{"seen", ordered_json(arguments)}};
                   }});
    commands_.Add({.name = "drop",
                   .changes = true,
                   .run = [this](const json& arguments) -> Result<ordered_json> {
                     calls_++;
                     if (arguments.contains("refuse")) {
                       return Error{Code::kFenced, Effect::kNone, "not yours"};
                     }
                     if (arguments.contains("throw")) {
                       throw std::runtime_error("no memory");
                     }
                     return ordered_json("dropped");
                   }});
    commands_.Add({.name = "long", .run = [](const json&) -> Result<ordered_json> {
                     return ordered_json(std::string(kMostAnswer, 'x'));
                   }});
  }

  json Query(const std::string& request) {
    return json::parse(commands_.Answer(request, {.uid = 7, .pid = 42}));
  }
  std::string Refusal(const std::string& request) {
    const json answer = Query(request);
    EXPECT_EQ(answer["v"], 1);
    EXPECT_EQ(answer["ok"], false);
    EXPECT_EQ(answer["code"], "invalid");
    EXPECT_EQ(answer.size(), 4u);
    return answer.value("error", "");
  }

  AdminCommands commands_;
  int calls_ = 0;
};

TEST_F(AdminCommandsTest, ACommandGetsItsArgumentsAndItsResultIsTheAnswer) {
  const json answer = Query(R"({"v":1,"command":"look","arguments":{"a":[1]}})");
  EXPECT_EQ(answer, json::parse(R"({"v":1,"ok":true,"result":{"seen":{"a":[1]}}})"));
  EXPECT_EQ(Query(R"({"v":1,"command":"look"})")["result"]["seen"], json::object());
}

TEST_F(AdminCommandsTest, AnotherVersionIsToldWhichOneIsSpokenWhateverElseItSays) {
  EXPECT_EQ(Refusal(R"({"v":2,"verb":"look"})"),
            "version 2 is not known; this service speaks version 1");
  EXPECT_THAT(Refusal(R"({"v":"1","command":"look"})"), HasSubstr("version \"1\" is not known"));
  EXPECT_THAT(Refusal(R"({"v":1.0,"command":"look"})"), HasSubstr("version 1.0 is not known"));
  EXPECT_THAT(Refusal(R"({"command":"look"})"), HasSubstr("version (none) is not known"));
  EXPECT_EQ(calls_, 0);
}

TEST_F(AdminCommandsTest, AnUnknownCommandIsToldByItsName) {
  EXPECT_EQ(Refusal(R"({"v":1,"command":"lock"})"), "this service knows no command \"lock\"");
  EXPECT_LT(Refusal(R"({"v":1,"command":")" + std::string(60'000, 'x') + "\"}").size(), 200u);
}

TEST_F(AdminCommandsTest, WhatIsNoRequestIsRefused) {
  for (const std::string& garbage :
       {std::string(), std::string("{"), std::string("\0\xFF\xC0", 3), std::string("[]"),
        std::string("null"), std::string("{\"v\":1} x"), std::string("{'v':1}")}) {
    EXPECT_EQ(Refusal(garbage), "the request is no JSON object");
  }
  EXPECT_EQ(Refusal(R"({"v":1})"), "the request names no command");
  EXPECT_THAT(Refusal(R"({"v":1,"command":5})"), HasSubstr("no place for \"command\": 5"));
  EXPECT_THAT(Refusal(R"({"v":1,"command":"look","arguments":[]})"),
              HasSubstr("no place for \"arguments\": []"));
  EXPECT_THAT(Refusal(R"({"v":1,"command":"look","user":"root"})"),
              HasSubstr("no place for \"user\""));
  EXPECT_EQ(calls_, 0);
}

TEST_F(AdminCommandsTest, DeepNestingIsRefusedBeforeAnybodyFollowsIt) {
  const std::string head = R"({"v":1,"command":"look","arguments":{"a":)";
  EXPECT_THAT(Refusal(head + std::string(32'000, '[') + std::string(32'000, ']') + "}}"),
              HasSubstr("nested more than 16 levels"));
  EXPECT_EQ(Query(head + std::string(14, '[') + std::string(14, ']') + "}}")["ok"], true);
  EXPECT_EQ(Query(head + '"' + std::string(100, '[') + "\\\"" + "\"}}")["ok"], true)
      << "brackets in a text nest nothing";
}

TEST_F(AdminCommandsTest, AnAnswerThatIsTooLongBecomesARefusal) {
  EXPECT_THAT(Refusal(R"({"v":1,"command":"long"})"), HasSubstr("16777216 are allowed"));
}

TEST_F(AdminCommandsTest, EveryChangeIsPutOnRecordWithWhoAskedForWhatAndWhatCameOfIt) {
  LogFile log;
  Query(R"({"v":1,"command":"drop","arguments":{"key":"k\n1"}})");
  Query(R"({"v":1,"command":"drop","arguments":{"refuse":1}})");
  EXPECT_THAT(Refusal(R"({"v":1,"command":"drop","arguments":{"throw":1}})"),
              HasSubstr("no memory"));
  Query(R"({"v":1,"command":"look"})");
  const std::string text = log.End();
  EXPECT_THAT(
      text,
      HasSubstr(
          R"("area":"admin","text":"change 1","command":"drop","uid":7,"pid":42,"arguments":)"));
  EXPECT_THAT(text, HasSubstr(R"("result":"done")"));
  EXPECT_THAT(text, HasSubstr(R"("text":"change 2")"));
  EXPECT_THAT(text, HasSubstr("not yours"));
  EXPECT_THAT(text, HasSubstr(R"("text":"change 3")"));
  EXPECT_THAT(text, HasSubstr("failed: no memory"));
  EXPECT_THAT(text, Not(HasSubstr("look")));
}

TEST_F(AdminCommandsTest, ManyChangesInOneSecondAreAllOnRecord) {
  LogFile log;
  for (int i = 0; i < 100; i++) {
    Query(R"({"v":1,"command":"drop"})");
  }
  EXPECT_THAT(log.End(), HasSubstr(R"("text":"change 100")"));
}

TEST_F(AdminCommandsTest, LongArgumentsAreCutOnRecord) {
  LogFile log;
  Query(R"({"v":1,"command":"drop","arguments":{"key":")" + std::string(50'000, 'k') + "\"}}");
  EXPECT_LT(log.End().size(), 3'000u);
}

TEST_F(AdminCommandsTest, AChangeThatLeavesNoTraceIsRefused) {
  StartLogging({.level = LogLevel::kError, .file = "/dev/null"});
  EXPECT_THAT(Refusal(R"({"v":1,"command":"drop"})"), HasSubstr("`log.level`"));
  EXPECT_EQ(calls_, 0);
  EXPECT_EQ(Query(R"({"v":1,"command":"look"})")["ok"], true);
  StartLogging({});
  StopLogging();
}

TEST(AdminWords, ARequestIsReadAsItWasWritten) {
  const auto request =
      DecodeAdminRequest(EncodeAdminRequest({"window show", {{"id_hex", "00ff"}}}));
  ASSERT_TRUE(request);
  EXPECT_EQ(request->command, "window show");
  EXPECT_EQ(request->arguments, json::parse(R"({"id_hex":"00ff"})"));
}

TEST(AdminWords, OnlyAnAnswerOfAServiceIsOne) {
  EXPECT_EQ(*DecodeAdminAnswer(R"({"v":1,"ok":true,"result":5})"), 5);
  const auto away = DecodeAdminAnswer(AdminRefusal("no answer", Code::kUnavailable));
  EXPECT_EQ(away.error().code, Code::kUnavailable) << "so that the command ends by its cause";
  for (const char* older :
       {R"({"v":1,"ok":false,"error":"x"})", R"({"v":1,"ok":false,"error":"x","code":7})"}) {
    EXPECT_EQ(DecodeAdminAnswer(older).error().code, Code::kInvalid);
  }
  const auto refused = DecodeAdminAnswer(AdminRefusal("no"));
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  EXPECT_EQ(refused.error().message, "no");
  EXPECT_THAT(DecodeAdminAnswer(R"({"v":2,"ok":true,"result":5})").error().message,
              HasSubstr("answers in version 2"));
  for (const char* text : {"", "HTTP/1.1 400", "[]", "{}", R"({"v":1,"ok":true})",
                           R"({"v":1,"ok":1,"result":5})", R"({"v":1,"ok":false,"error":5})"}) {
    EXPECT_EQ(DecodeAdminAnswer(text).error().code, Code::kCorrupt) << text;
  }
}

}  // namespace
}  // namespace oncemq
