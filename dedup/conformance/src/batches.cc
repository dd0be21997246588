// SPDX-License-Identifier: Apache-2.0
// Batches: each request is one step, in the order given; a malformed one stops the whole call
// before any of it is applied.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "window_test.h"

namespace oncemq::conformance {
namespace {

// Every kind of call, with one id and one token: `send` returns what the window says.
struct Call {
  const char* name;
  bool has_token;
  std::function<Status(Window&, std::string_view good, std::string_view other, Token)> send;
};

// A batch of two, the well-formed id first: it must not be applied if the second is malformed.
template <class ClaimVerdict, class Request>
std::function<Status(Window&, std::string_view, std::string_view, Token)> SendTwo(
    Status (Window::*call)(std::span<const Request>, std::span<ClaimVerdict>),
    std::function<Request(std::string_view, Token)> make) {
  return [=](Window& window, std::string_view good, std::string_view other, Token token) {
    const Request requests[] = {make(good, {9, 9}), make(other, token)};
    std::vector<ClaimVerdict> answers(2);
    return (window.*call)(std::span<const Request>(requests), std::span<ClaimVerdict>(answers));
  };
}

std::vector<Call> EveryCall() {
  const Coordinates at{0, 3, 5};
  return {
      {"claim", true,
       SendTwo<ClaimAnswer, ClaimRequest>(&Window::Claim,
                                          [=](auto id, Token t) {
                                            return ClaimRequest{id, t, at, 0, 0};
                                          })},
      {"complete", true,
       SendTwo<MarkerChange, CompleteRequest>(&Window::Complete,
                                              [=](auto id, Token t) {
                                                return CompleteRequest{id, t, at, {}};
                                              })},
      {"release", true,
       SendTwo<MarkerChange, ReleaseRequest>(&Window::Release,
                                             [](auto id, Token t) {
                                               return ReleaseRequest{id, t, false};
                                             })},
      {"park", true,
       SendTwo<MarkerChange, ParkRequest>(&Window::Park,
                                          [](auto id, Token t) {
                                            return ParkRequest{id, t, 1};
                                          })},
      {"renew", true,
       SendTwo<MarkerChange, RenewRequest>(&Window::Renew,
                                           [](auto id, Token t) {
                                             return RenewRequest{id, t};
                                           })},
      {"restore", false,
       SendTwo<MarkerChange, RestoreRequest>(&Window::Restore,
                                             [=](auto id, Token) {
                                               return RestoreRequest{id, at, 0};
                                             })},
      {"peek", false,
       SendTwo<MarkerView, std::string_view>(&Window::Peek, [](auto id, Token) { return id; })},
  };
}

void ExpectInvalid(const Status& status, const std::string& what) {
  ASSERT_FALSE(status.has_value()) << what;
  EXPECT_EQ(status.error().code, Code::kInvalid) << what;
  EXPECT_EQ(status.error().effect, Effect::kNone) << what;
  EXPECT_FALSE(status.error().message.empty()) << what;
}

}  // namespace

WINDOW_TEST(Always, AnEmptyOrOverlongIdRefusesTheCallAndNoneOfItIsApplied) {
  const std::string overlong(subject().can().max_id_bytes + 1, 'i');
  for (const Call& call : EveryCall()) {
    for (const std::string_view bad : {std::string_view(), std::string_view(overlong)}) {
      ExpectInvalid(call.send(window(), "good", bad, {8, 8}), call.name);
      EXPECT_EQ(StateOf("good"), MarkerState::kNone) << call.name;
    }
  }
}

WINDOW_TEST(Always, AnEmptyTokenRefusesTheCallAndNoneOfItIsApplied) {
  for (const Call& call : EveryCall()) {
    if (call.has_token) {
      ExpectInvalid(call.send(window(), "good", "other", Token{}), call.name);
      EXPECT_EQ(StateOf("good"), MarkerState::kNone) << call.name;
    }
  }
}

WINDOW_TEST(Always, TooFewPlacesForAnswersRefuseTheCall) {
  const ClaimRequest requests[] = {{"a", {9, 1}, {}, 0, 0}, {"b", {9, 2}, {}, 0, 0}};
  ClaimAnswer answer;
  ExpectInvalid(window().Claim(requests, {&answer, 1}), "claim");
  EXPECT_EQ(StateOf("a"), MarkerState::kNone);
}

WINDOW_TEST(Always, AnEmptyBatchIsAnsweredWithNothing) {
  EXPECT_TRUE(window().Claim({}, {}).has_value());
  EXPECT_TRUE(window().Complete({}, {}).has_value());
  EXPECT_TRUE(window().Release({}, {}).has_value());
  EXPECT_TRUE(window().Park({}, {}).has_value());
  EXPECT_TRUE(window().Renew({}, {}).has_value());
  EXPECT_TRUE(window().Restore({}, {}).has_value());
  EXPECT_TRUE(window().Peek({}, {}).has_value());
}

WINDOW_TEST(IfStoresClaims, EveryRequestOfABatchGetsItsOwnAnswer) {
  const Attempt done = New("done");
  Claim(done);
  Complete(done);
  const Attempt parked = New("parked");
  Claim(parked);
  Park(parked, 4);
  Claim(New("open"));
  std::vector<ClaimRequest> requests;
  for (const char* id : {"new", "done", "open", "parked", "also new"}) {
    requests.push_back({id, New().token, {0, 3, 5}, 0, 0});
  }
  requests.push_back({"fenced", New().token, {0, 3, 5}, 1, 0});
  // Answers of an earlier call, and one place more than is needed.
  std::vector<ClaimAnswer> answers(
      7, {ClaimVerdict::kGranted, true, true, 7, 7, MarkerState::kHanded, microseconds(7), "old"});
  ASSERT_TRUE(window().Claim(requests, answers).has_value());
  EXPECT_EQ(answers[0].answer, ClaimVerdict::kGranted);
  EXPECT_EQ(answers[1].answer, ClaimVerdict::kDuplicate);
  EXPECT_EQ(answers[2].answer, ClaimVerdict::kInFlight);
  EXPECT_EQ(answers[3].answer, ClaimVerdict::kAttached);
  EXPECT_EQ(answers[4].answer, ClaimVerdict::kGranted);
  EXPECT_EQ(answers[5].answer, ClaimVerdict::kFenced);
  EXPECT_EQ(answers[6].result, "old");
  EXPECT_FALSE(answers[0].same_delivery);
  EXPECT_FALSE(answers[0].uncertain);
  EXPECT_EQ(answers[0].attempt, 1u);
  EXPECT_EQ(answers[0].entry, 0u);
  EXPECT_EQ(answers[1].result, "");
}

WINDOW_TEST(IfStoresClaims, ACopyInTheSameBatchIsInFlight) {
  const ClaimRequest requests[] = {{"x", New().token, {0, 3, 5}, 0, 0},
                                   {"y", New().token, {0, 3, 6}, 0, 0},
                                   {"x", New().token, {0, 3, 7}, 0, 0}};
  ClaimAnswer answers[3];
  ASSERT_TRUE(window().Claim(requests, answers).has_value());
  EXPECT_EQ(answers[0].answer, ClaimVerdict::kGranted);
  EXPECT_EQ(answers[1].answer, ClaimVerdict::kGranted);
  EXPECT_EQ(answers[2].answer, ClaimVerdict::kInFlight);
  EXPECT_EQ(Peek().token, requests[0].token);
}

WINDOW_TEST(IfStoresClaims, ABatchThatClaimsAndOneThatCompletesWorkAsSingleCallsDo) {
  constexpr size_t kMany = 1'000;
  std::vector<std::string> ids;
  std::vector<ClaimRequest> claims;
  std::vector<CompleteRequest> completions;
  ids.reserve(kMany);
  for (size_t i = 0; i < kMany; i++) {
    const Attempt attempt = New(ids.emplace_back("id-" + std::to_string(i)));
    claims.push_back({attempt.id, attempt.token, attempt.at, 0, 0});
    // Every tenth is completed by somebody else.
    const Token completer = i % 10 == 0 ? New().token : attempt.token;
    completions.push_back({attempt.id, completer, attempt.at, {}});
  }
  std::vector<ClaimAnswer> granted(kMany);
  std::vector<MarkerChange> made(kMany);
  ASSERT_TRUE(window().Claim(claims, granted).has_value());
  ASSERT_TRUE(window().Complete(completions, made).has_value());
  std::vector<ClaimAnswer> again(kMany);
  ASSERT_TRUE(window().Claim(claims, again).has_value());
  for (size_t i = 0; i < kMany; i++) {
    const bool fenced = i % 10 == 0;
    EXPECT_EQ(granted[i].answer, ClaimVerdict::kGranted) << i;
    EXPECT_EQ(made[i], fenced ? MarkerChange::kFenced : MarkerChange::kMade) << i;
    EXPECT_EQ(again[i].answer, fenced ? ClaimVerdict::kGranted : ClaimVerdict::kDuplicate) << i;
  }
}

WINDOW_TEST(Always, AWholeBatchRepeatedAfterALostReplyRecognisesItself) {
  std::vector<ClaimRequest> claims;
  std::vector<CompleteRequest> completions;
  for (const char* id : {"a", "b", "c"}) {
    const Attempt attempt = New(id);
    claims.push_back({attempt.id, attempt.token, attempt.at, 0, 0});
    completions.push_back({attempt.id, attempt.token, attempt.at, {}});
  }
  for (int time = 0; time < 2; time++) {
    std::vector<ClaimAnswer> answers(3);
    ASSERT_TRUE(window().Claim(claims, answers).has_value());
    for (const ClaimAnswer& answer : answers) {
      EXPECT_EQ(answer.answer, ClaimVerdict::kGranted);
      EXPECT_EQ(answer.attempt, 1u);
    }
  }
  for (int time = 0; time < 2; time++) {
    std::vector<MarkerChange> answers(3, MarkerChange::kFenced);
    ASSERT_TRUE(window().Complete(completions, answers).has_value());
    EXPECT_EQ(answers, std::vector<MarkerChange>(3, MarkerChange::kMade));
  }
}

}  // namespace oncemq::conformance
