// SPDX-License-Identifier: Apache-2.0
#include "admin_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oncemq {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using ::testing::HasSubstr;

class AdminCommandsTest : public ::testing::Test {
 protected:
  AdminCommandsTest() {
    const auto look = [this](const json& arguments) -> Result<ordered_json> {
      calls_++;
      return ordered_json{{"seen", ordered_json(arguments)}};
    };
    commands_.Add({.name = "look", .run = look});
    commands_.Add({.name = "look twice", .run = look});
    commands_.Add({.name = "fail", .run = [](const json& arguments) -> Result<ordered_json> {
                     const int code = std::stoi(arguments.at("code").get<std::string>());
                     return Error{static_cast<Code>(code), Effect::kNone, "not now\xFF"};
                   }});
    commands_.Add({.name = "long", .run = [](const json&) -> Result<ordered_json> {
                     return ordered_json(std::string(kMostAdminAnswer, 'x'));
                   }});
  }

  json Query(const std::string& target) {
    const HttpAnswer answer = AnswerAdmin(commands_, target);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json::parse(answer.body);
  }
  std::string Refusal(const std::string& target, int status = 400) {
    const HttpAnswer answer = AnswerAdmin(commands_, target);
    EXPECT_EQ(answer.status, status) << target.substr(0, 100);
    const json body = json::parse(answer.body);
    EXPECT_EQ(body.size(), 2u);
    EXPECT_TRUE(body["code"].is_string());
    return body.value("error", "");
  }

  AdminCommands commands_;
  int calls_ = 0;
};

TEST_F(AdminCommandsTest, ACommandGetsItsArgumentsAndItsResultIsTheAnswer) {
  EXPECT_EQ(Query("/v1/look?a=1&b=%00%fF+x%2B=y&c"),
            json({{"seen", {{"a", "1"}, {"b", std::string("\0\xEF\xBF\xBD x+=y", 9)}, {"c", ""}}}}))
      << "each \"=\" after the first is a part of the value";
  EXPECT_EQ(Query("/v1/look/twice")["seen"], json::object());
  EXPECT_EQ(Query("/v1/look?")["seen"], json::object());
  EXPECT_EQ(calls_, 3);
}

TEST_F(AdminCommandsTest, AnUnknownCommandIsToldByItsName) {
  EXPECT_EQ(Refusal("/v1/lock", 404), "this service knows no command \"lock\"");
  EXPECT_EQ(Refusal("/v1/", 404), "this service knows no command \"\"");
  EXPECT_LT(Refusal("/v1/" + std::string(60'000, 'x'), 404).size(), 200u);
  EXPECT_EQ(Refusal("/v2/look", 404),
            "there is nothing at \"/v2/look\": a question begins with /v1/");
  for (const char* path : {"", "/", "/v1", "v1/look", "http://x/v1/look", "*"}) {
    EXPECT_THAT(Refusal(path, 404), HasSubstr("there is nothing at")) << path;
  }
  EXPECT_EQ(calls_, 0);
}

TEST_F(AdminCommandsTest, ArgumentsInDoubtAreRefused) {
  for (const char* query : {"=1", "a=%", "a=%4", "a=%zz", "%=1", "a=1&=2"}) {
    EXPECT_THAT(Refusal(std::string("/v1/look?") + query), HasSubstr("is `name=value`")) << query;
  }
  EXPECT_EQ(Refusal("/v1/look?a=1&a=1"), "the argument \"a\" is there twice");
  EXPECT_EQ(calls_, 0);
}

TEST_F(AdminCommandsTest, AnErrorHasTheStatusOfItsCode) {
  for (const auto& [code, status] :
       {std::pair(Code::kInvalid, 400), std::pair(Code::kNotFound, 404),
        std::pair(Code::kUnavailable, 503), std::pair(Code::kTimeout, 503),
        std::pair(Code::kBusy, 503), std::pair(Code::kCorrupt, 500),
        std::pair(Code::kInternal, 500)}) {
    const std::string target = "/v1/fail?code=" + std::to_string(static_cast<int>(code));
    EXPECT_EQ(Refusal(target, status), "not now\xEF\xBF\xBD");
    const HttpAnswer answer = AnswerAdmin(commands_, target);
    EXPECT_EQ(ReadAdminAnswer(answer.status, answer.body).error().code, code)
        << "so that the command ends by its cause";
  }
  EXPECT_THAT(Refusal("/v1/fail?code=x", 500), HasSubstr("the command failed: "));
}

TEST_F(AdminCommandsTest, AnAnswerThatIsTooLongBecomesARefusal) {
  EXPECT_THAT(Refusal("/v1/long", 500), HasSubstr("16777216 are allowed"));
}

TEST(AdminWords, ARequestIsReadAsItWasWritten) {
  std::string all;
  for (int i = 0; i < 256; i++) {
    all.push_back(static_cast<char>(i));
  }
  const AdminRequest asked{"window show", {{"id", all}, {all, "x"}, {"n", -17}}};
  const std::string target = EncodeAdminTarget(asked);
  EXPECT_THAT(target, HasSubstr("/v1/window/show?"));
  const auto request = DecodeAdminTarget(target);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->command, "window show");
  EXPECT_EQ(request->arguments, json({{"id", all}, {all, "x"}, {"n", "-17"}}));
}

TEST(AdminWords, OnlyAnAnswerOfAServiceIsOne) {
  EXPECT_EQ(*ReadAdminAnswer(200, "5\n"), 5);
  const auto refused = ReadAdminAnswer(400, R"({"error":"no"})");
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  EXPECT_EQ(refused.error().message, "no");
  EXPECT_EQ(ReadAdminAnswer(500, R"({"error":"no","code":7})").error().code, Code::kInvalid);
  EXPECT_EQ(ReadAdminAnswer(500, R"({"error":"no","code":"full"})").error().code, Code::kFull);
  for (const auto& [status, body] :
       {std::pair(200, ""), std::pair(200, "<html>"), std::pair(404, "[]"), std::pair(404, "{}"),
        std::pair(302, "{}"), std::pair(500, R"({"error":5})")}) {
    EXPECT_EQ(ReadAdminAnswer(status, body).error().code, Code::kCorrupt) << body;
  }
}

}  // namespace
}  // namespace oncemq
