// SPDX-License-Identifier: Apache-2.0
// The gate of an endpoint: the answers that are stored, and those to copies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "faulty_window.h"
#include "gate_engines.h"
#include "oncemq/gate/http_gate.h"

namespace oncemq::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

class HttpGateTest : public GateTest {
 protected:
  void OpenHttp(const HttpGateOptions& http = {}, const GateOptions& options = Usual()) {
    Open();
    http_ = std::make_unique<HttpGate>(Another(options), http);
  }
  HttpAnswer Post(const std::string& key, const HttpAnswer& answer,
                  const std::string& body = "order") {
    return http_->Handle({.keys = {key},
                          .tenant = "tenant",
                          .route = "POST /orders",
                          .contents = Contents::OfBytes(body)},
                         [&](const Ticket&) {
                           ran_++;
                           return answer;
                         });
  }
  static void ExpectProblem(const HttpAnswer& answer, int status, const std::string& state) {
    EXPECT_EQ(answer.status, status);
    EXPECT_THAT(answer.headers, Contains(Pair("Content-Type", "application/problem+json")));
    EXPECT_THAT(answer.body, HasSubstr("\"state\":\"" + state + "\""));
    EXPECT_THAT(answer.body, HasSubstr("\"status\":" + std::to_string(status)));
  }

  std::unique_ptr<HttpGate> http_;
  int ran_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Over, HttpGateTest, ::testing::ValuesIn(GateEngines()), NameOf);

const HttpAnswer kCreated{.status = 201,
                          .headers = {{"content-type", "text/plain"},
                                      {"Content-Encoding", "identity"},
                                      {"Location", "/orders/17"},
                                      {"Date", "now"}},
                          .body = "ordered"};

TEST_P(HttpGateTest, ACopyGetsTheAnswerWithItsChosenHeadersAndAMark) {
  OpenHttp();
  EXPECT_THAT(Post("\"a\"", kCreated).headers, Not(Contains(Pair("Idempotent-Replayed", "true"))));
  const HttpAnswer copy = Post("a", {.status = 500});
  EXPECT_EQ(copy.status, 201);
  EXPECT_EQ(copy.body, "ordered");
  EXPECT_THAT(copy.headers, ::testing::UnorderedElementsAre(Pair("content-type", "text/plain"),
                                                            Pair("Content-Encoding", "identity"),
                                                            Pair("Location", "/orders/17"),
                                                            Pair("Idempotent-Replayed", "true")));
  EXPECT_EQ(ran_, 1);
}

TEST_P(HttpGateTest, ByDefaultWhatMayGoBetterNextTimeIsNotStored) {
  OpenHttp();
  for (const int status : {501, 503, 505, 511, 408, 409, 423, 425, 429}) {
    const std::string key = std::to_string(status);
    EXPECT_EQ(Post(key, {.status = status}).status, status);
    EXPECT_EQ(Post(key, kCreated).status, 201) << status;
  }
  ran_ = 0;
  for (const int status : {200, 201, 303, 400, 402, 404, 422}) {
    const std::string key = std::to_string(status);
    Post(key, {.status = status});
    EXPECT_EQ(Post(key, kCreated).status, status);
  }
  EXPECT_EQ(ran_, 7);
}

// Such an answer may be of a handler that failed after its effect, or of the proxy of an upstream.
TEST_P(HttpGateTest, AfterAnErrorOfTheServerNobodyKnowsUnlessTheHandlerSaysSo) {
  OpenHttp();
  for (const int status : {500, 502, 504, 506, 507, 508, 520, 522, 524, 599, 600}) {
    const std::string key = std::to_string(status);
    EXPECT_EQ(Post(key, {.status = status}).status, status);
    ExpectProblem(Post(key, kCreated), 409, "uncertain");
    EXPECT_EQ(Post(key + "-known", {.status = status, .effect = Effect::kNone}).status, status);
    EXPECT_EQ(Post(key + "-known", kCreated).status, 201) << status;
  }
}

TEST_P(HttpGateTest, TheOtherPoliciesStoreLessOrAll) {
  OpenHttp({.stored = HttpGateOptions::Stored::kSuccess});
  Post("a", {.status = 404});
  EXPECT_EQ(Post("a", kCreated).status, 201);
  OpenHttp({.stored = HttpGateOptions::Stored::kAll});
  Post("a", {.status = 500});
  EXPECT_EQ(Post("a", kCreated).status, 500);
}

TEST_P(HttpGateTest, AKeyThatIsMissingOrWrongIsToldAndNothingRuns) {
  OpenHttp();
  HttpAnswer missing = http_->Handle({}, [](const Ticket&) { return HttpAnswer(); });
  ExpectProblem(missing, 400, "invalid_key");
  EXPECT_THAT(missing.body, HasSubstr("needs a header Idempotency-Key"));
  EXPECT_THAT(missing.body,
              HasSubstr("\"detail\":\"this request needs a header Idempotency-Key\""));
  const HttpAnswer wrong = Post("a b", kCreated);
  ExpectProblem(wrong, 400, "invalid_key");
  EXPECT_THAT(wrong.body, HasSubstr(R"(characters but for \" \\ , ;",)")) << "escaped";
  EXPECT_EQ(ran_, 0);
  OpenHttp({.required = false});
  EXPECT_EQ(http_
                ->Handle({},
                         [](const Ticket& ticket) {
                           EXPECT_FALSE(static_cast<bool>(ticket));
                           EXPECT_EQ(ticket.ref(), "");
                           return HttpAnswer{.status = 204};
                         })
                .status,
            204);
}

TEST_P(HttpGateTest, WithoutATenantNothingRunsUnlessThereIsOneOnly) {
  const auto post = [&] {
    return http_->Handle({.keys = {"a"}, .route = "r"}, [](const Ticket&) { return kCreated; });
  };
  OpenHttp();
  ExpectProblem(post(), 401, "no_tenant");
  OpenHttp({.one_tenant = true});
  EXPECT_EQ(post().status, 201);
}

TEST_P(HttpGateTest, AnotherRequestUnderTheKeyIsAConflict) {
  OpenHttp();
  Post("a", kCreated);
  const HttpAnswer other = Post("a", kCreated, "another order");
  ExpectProblem(other, 422, "conflict");
  EXPECT_THAT(other.body, HasSubstr("\"safe_new_key\":true}")) << "nothing to wait for";
}

TEST_P(HttpGateTest, ACopyBesideItIsToldToComeAgain) {
  OpenHttp();
  HttpAnswer beside;
  http_->Handle({.keys = {"a"}, .tenant = "t", .route = "r"}, [&](const Ticket& ticket) {
    beside = http_->Handle({.keys = {"a"}, .tenant = "t", .route = "r"}, {});
    EXPECT_THAT(beside.body, HasSubstr("\"ref\":\"" + ticket.ref() + "\""));
    return kCreated;
  });
  ExpectProblem(beside, 409, "in_progress");
  EXPECT_THAT(beside.headers, Contains(Pair("Retry-After", "1")));
  EXPECT_THAT(beside.body, HasSubstr("\"safe_new_key\":false,\"retry_after\":1}"));
}

TEST_P(HttpGateTest, AHandlerThatDoesNotKnowLeavesItToAnOperator) {
  OpenHttp();
  EXPECT_EQ(Post("a", {.status = 504, .effect = Effect::kUnknown}).status, 504);
  ExpectProblem(Post("a", kCreated), 409, "uncertain");
  EXPECT_EQ(ran_, 1);
}

TEST_P(HttpGateTest, AWindowThatIsAwayIsToldAndNothingRuns) {
  Open();
  auto faulty = std::make_shared<FaultyWindow>(window());
  GateOptions options = Usual();
  options.within = std::max(window()->capabilities().longest_call, milliseconds(100));
  http_ = std::make_unique<HttpGate>(*Gate::Open(faulty, options));
  faulty->down = true;
  const HttpAnswer away = Post("a", kCreated);
  ExpectProblem(away, 503, "error");
  EXPECT_THAT(away.headers, Contains(Pair("Retry-After", "1")));
  EXPECT_EQ(ran_, 0);
}

// Edge case (g).
TEST_P(HttpGateTest, CopiesCostNoQuotaOfAThrottleInTheHandler) {
  OpenHttp();
  int quota = 1;
  const auto throttled = [&](const std::string& key) {
    return http_->Handle({.keys = {key}, .tenant = "t", .route = "r"}, [&](const Ticket&) {
      return quota-- > 0 ? kCreated : HttpAnswer{.status = 429};
    });
  };
  EXPECT_EQ(throttled("a").status, 201);
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(throttled("a").status, 201);
  }
  EXPECT_EQ(throttled("b").status, 429);
  quota = 1;
  EXPECT_EQ(throttled("b").status, 201) << "it was not stored";
}

// Edge cases (c) and (l).
TEST_P(HttpGateTest, AnAnswerThatCannotBeStoredIsFinishedAndNotAvailable) {
  OpenHttp();
  Post("streamed", {.status = 200, .streamed = true});
  Post("large", {.status = 200, .body = std::string(70'000, 'x')});
  for (const char* key : {"streamed", "large"}) {
    const HttpAnswer copy = Post(key, kCreated);
    ExpectProblem(copy, 410, "finished");
    EXPECT_THAT(copy.body, HasSubstr("\"safe_new_key\":false"));
  }
  EXPECT_EQ(ran_, 2);
}

TEST_P(HttpGateTest, AHandlerThatThrowsMayHaveHadItsEffect) {
  OpenHttp();
  const HttpCall call{.keys = {"a"},
                      .tenant = "tenant",
                      .route = "POST /orders",
                      .contents = Contents::OfBytes("order")};
  const auto throws = [](const Ticket&) -> HttpAnswer { throw std::runtime_error("bug"); };
  EXPECT_THROW(http_->Handle(call, throws), std::runtime_error);
  ExpectProblem(Post("a", kCreated), 409, "uncertain");
  EXPECT_EQ(ran_, 0);
}

}  // namespace
}  // namespace oncemq::testing
