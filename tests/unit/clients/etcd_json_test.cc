// SPDX-License-Identifier: Apache-2.0
#include "etcd_json.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

nlohmann::json Json(std::string_view text) {
  auto parsed = ParseJson(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed.value_or(nlohmann::json());
}

constexpr std::string_view kHeader =
    R"("header":{"cluster_id":"18446744073709551615","revision":"7","raft_term":"2"})";

TEST(EtcdJson, ATransactionIsSaidAsTheGatewayWantsIt) {
  EtcdTxn txn;
  txn.if_all = {{.what = EtcdCompare::What::kCreated, .key = std::string("a\0", 2), .number = 5},
                {.what = EtcdCompare::What::kValue,
                 .is = EtcdCompare::Is::kNot,
                 .key = "b",
                 .end = "c",
                 .value = "\xff"}};
  txn.then = {
      {.kind = EtcdOp::Kind::kPut, .key = "k", .value = "v", .lease = -3, .keep_lease = true}};
  txn.otherwise = {{.kind = EtcdOp::Kind::kRange,
                    .key = "k",
                    .end = "l",
                    .limit = 2,
                    .keys_only = true,
                    .in_creation = true}};
  const auto said = Json(JsonOf(txn));
  EXPECT_EQ(said, Json(R"({"compare":[
      {"target":"CREATE","result":"EQUAL","key":"YQA=","create_revision":"5"},
      {"target":"VALUE","result":"NOT_EQUAL","key":"Yg==","range_end":"Yw==","value":"/w=="}],
    "success":[{"request_put":{"key":"aw==","value":"dg==","lease":"-3","ignore_lease":true}}],
    "failure":[{"request_range":{"key":"aw==","range_end":"bA==","limit":"2","keys_only":true,
                                 "sort_target":"CREATE","sort_order":"ASCEND"}}]})"));
}

TEST(EtcdJson, AnAnswerIsReadWithItsBytesAndItsNumbers) {
  const auto answer = TxnOf(Json("{" + std::string(kHeader) + R"(,"succeeded":true,"responses":[
      {"response_range":{"count":"2","kvs":[{"key":"YQA=","value":"/w==","create_revision":"3",
        "mod_revision":"4","version":"2","lease":"9223372036854775807"}]}},
      {"response_delete_range":{"deleted":"1"}},
      {"response_txn":{"succeeded":true,"responses":[{"response_put":{}}]}}]})"));
  ASSERT_TRUE(answer.has_value()) << ToString(answer.error());
  EXPECT_EQ(answer->header.cluster, UINT64_MAX);
  EXPECT_EQ(answer->header.revision, 7);
  ASSERT_EQ(answer->replies.size(), 3u);
  ASSERT_EQ(answer->replies[0].entries.size(), 1u);
  const EtcdEntry& entry = answer->replies[0].entries[0];
  EXPECT_EQ(entry.key, std::string("a\0", 2));
  EXPECT_EQ(entry.value, "\xff");
  EXPECT_EQ(entry.created, 3);
  EXPECT_EQ(entry.lease, INT64_MAX);
  EXPECT_EQ(answer->replies[0].count, 2);
  EXPECT_EQ(answer->replies[1].deleted, 1);
  EXPECT_TRUE(answer->replies[2].succeeded);
  EXPECT_EQ(answer->replies[2].replies.size(), 1u);
}

TEST(EtcdJson, WhatIsNoAnswerIsAnError) {
  const std::string header(kHeader);
  for (const std::string& text :
       {std::string("{}"), std::string(R"({"header":{}})"), std::string(R"({"header":7})"),
        "{" + header + R"(,"responses":[{}]})", "{" + header + R"(,"responses":[7]})",
        "{" + header + R"(,"responses":[{"response_range":{"kvs":[{"key":"!"}]}}]})"}) {
    const auto answer = TxnOf(Json(text));
    ASSERT_FALSE(answer.has_value()) << text;
    EXPECT_EQ(answer.error().code, Code::kCorrupt);
    EXPECT_EQ(answer.error().effect, Effect::kUnknown);
  }
  for (const char* text : {"", "[]", "7", "{", "\xff", "{\"a\":\"\xff\"}"}) {
    EXPECT_FALSE(ParseJson(text).has_value()) << text;
  }
}

TEST(EtcdJson, AnAnswerThatIsNestedWithoutEndIsRefused) {
  std::string text = "{}";
  for (int i = 0; i < 1'000; i++) {
    text = R"({"responses":[{"response_txn":)" + text + "}]}";
  }
  text.insert(1, std::string(kHeader) + ",");
  EXPECT_FALSE(TxnOf(Json(text)).has_value());
}

TEST(EtcdJson, AnErrorSaysWhetherTheStoreMayHaveActed) {
  const auto error = [](int code, const char* text) {
    return EtcdError({{"code", code}, {"message", text}});
  };
  EXPECT_EQ(error(5, "x").code, Code::kNotFound);
  EXPECT_EQ(error(3, "x").effect, Effect::kNone);
  EXPECT_EQ(error(8, "x").code, Code::kFull);
  EXPECT_EQ(error(14, "etcdserver: no leader").effect, Effect::kNone);
  EXPECT_EQ(error(14, "etcdserver: request timed out").effect, Effect::kUnknown);
  EXPECT_EQ(error(14, "etcdserver: leader changed").code, Code::kUnavailable);
  EXPECT_EQ(error(4, "x").code, Code::kTimeout);
  EXPECT_EQ(error(4, "x").effect, Effect::kUnknown);
  EXPECT_EQ(error(2, "x").effect, Effect::kUnknown);
}

TEST(EtcdJson, ATokenThatHasEndedIsARefusedLogin) {
  const auto code = [](int number, const char* text) {
    return EtcdError({{"code", number}, {"message", text}}).code;
  };
  EXPECT_EQ(code(16, "etcdserver: invalid auth token"), Code::kRefused);
  EXPECT_EQ(code(3, "etcdserver: revision of auth store is old"), Code::kRefused);
  EXPECT_EQ(code(16, "etcdserver: user name is empty"), Code::kInvalid);
}

TEST(EtcdJson, AWatchIsHeardLineByLine) {
  std::vector<EtcdEvent> heard;
  const auto hear = [&](const std::string& line, size_t enough) {
    return HearLine(line, [&](const EtcdEvent& event) {
      heard.push_back(event);
      return heard.size() < enough;
    });
  };
  const std::string header(kHeader);
  ASSERT_TRUE(*hear(R"({"result":{)" + header + R"(,"created":true}})", 9));
  const std::string events =
      R"({"result":{)" + header +
      R"(,"events":[{"kv":{"key":"YQ=="}},{"type":"DELETE","kv":{"key":"Yg=="}}]}})";
  ASSERT_TRUE(*hear(events, 9));
  ASSERT_EQ(heard.size(), 3u);
  EXPECT_EQ(heard[0].kind, EtcdEvent::Kind::kBegun);
  EXPECT_EQ(heard[1].kind, EtcdEvent::Kind::kPut);
  EXPECT_EQ(heard[2].kind, EtcdEvent::Kind::kDeleted);
  EXPECT_EQ(heard[2].entry.key, "b");
  EXPECT_FALSE(*hear(events, 4)) << "enough";
  EXPECT_FALSE(hear(R"({"result":{)" + header + R"(,"canceled":true}})", 9).has_value());
  EXPECT_FALSE(hear(R"({"error":{"grpc_code":14,"message":"gone"}})", 9).has_value());
  EXPECT_FALSE(hear("rubbish", 9).has_value());
}

TEST(EtcdJson, TheEndOfAPrefixIsBehindAllThatBeginWithIt) {
  EXPECT_EQ(EtcdEndOf("ab"), "ac");
  EXPECT_EQ(EtcdEndOf("a\xff\xff"), "b");
  EXPECT_EQ(EtcdEndOf("\xff"), std::string(1, '\0'));
}

}  // namespace
}  // namespace oncemq
