// SPDX-License-Identifier: Apache-2.0
// A look by the rules of a claim: the same answers, and nothing changes by it.
#include <string>
#include <vector>

#include "window_test.h"

namespace oncemq::conformance {
namespace {

class JudgingTest : public WindowTest {
 public:
  using WindowTest::WindowTest;

 protected:
  using Attempts = std::vector<Attempt>;
  using Call = Status (Window::*)(std::span<const ClaimRequest>, std::span<ClaimAnswer>);

  // In one call.
  std::vector<ClaimAnswer> AnswersTo(const Attempts& attempts, Call call) {
    std::vector<ClaimRequest> requests;
    for (const Attempt& attempt : attempts) {
      requests.push_back(ClaimOf(attempt));
    }
    std::vector<ClaimAnswer> answers(requests.size());
    const Status answered = (window().*call)(requests, answers);
    EXPECT_TRUE(answered.has_value()) << ToString(answered.error());
    return answers;
  }
  std::vector<MarkerView> ViewsOf(const Attempts& attempts) {
    std::vector<std::string_view> ids;
    for (const Attempt& attempt : attempts) {
      ids.push_back(attempt.id);
    }
    std::vector<MarkerView> views(ids.size());
    const Status seen = window().Peek(ids, views);
    EXPECT_TRUE(seen.has_value()) << ToString(seen.error());
    return views;
  }
  // Judges twice, and claims then.
  void ExpectJudgedAsClaimed(const Attempts& attempts) {
    const auto before = ViewsOf(attempts);
    const auto judged = AnswersTo(attempts, &Window::Judge);
    const auto again = AnswersTo(attempts, &Window::Judge);
    const auto after = ViewsOf(attempts);
    const auto claimed = AnswersTo(attempts, &Window::Claim);
    for (size_t i = 0; i < attempts.size(); i++) {
      SCOPED_TRACE(std::string(attempts[i].id) + ", number " + std::to_string(i));
      ExpectSame(before[i], after[i]);
      ExpectSame(judged[i], again[i]);
      ExpectSame(judged[i], claimed[i]);
    }
  }
  static void ExpectSame(const MarkerView& earlier, const MarkerView& later) {
    EXPECT_EQ(later.state, earlier.state);
    EXPECT_EQ(later.at, earlier.at);
    EXPECT_EQ(later.token, earlier.token);
    EXPECT_EQ(later.uncertain, earlier.uncertain);
    EXPECT_EQ(later.fingerprint, earlier.fingerprint);
  }
  void ExpectSame(const ClaimAnswer& earlier, const ClaimAnswer& later) {
    EXPECT_EQ(later.answer, earlier.answer);
    EXPECT_EQ(later.same_delivery, earlier.same_delivery);
    EXPECT_EQ(later.uncertain, earlier.uncertain);
    EXPECT_EQ(later.attempt, earlier.attempt);
    EXPECT_EQ(later.entry, earlier.entry);
    EXPECT_EQ(later.attached, earlier.attached);
    EXPECT_EQ(later.result, earlier.result);
    EXPECT_LE(later.wait, earlier.wait);
    EXPECT_TRUE(later.wait == earlier.wait || !subject().engine->exact_clock);
  }
  Attempt Careful(std::string_view id) {
    Attempt attempt = New(id);
    attempt.not_if_uncertain = true;
    return attempt;
  }
  Attempt With(std::string_view id, uint32_t fingerprint) {
    Attempt attempt = New(id);
    attempt.fingerprint = fingerprint;
    return attempt;
  }
};

}  // namespace

WINDOW_TEST(Always, AWindowJudgesIfItsEngineSaysSo) {
  const Status told = window().Judge({}, {});
  EXPECT_EQ(told.has_value(), subject().engine->judges);
  if (!told) {
    EXPECT_EQ(told.error().code, Code::kInvalid);
    EXPECT_EQ(told.error().effect, Effect::kNone);
  }
}

WINDOW_TEST_F(JudgingTest, IfJudges, AJudgedIdStaysNew) {
  const ClaimAnswer judged = Judge(New());
  EXPECT_EQ(judged.answer, ClaimVerdict::kGranted);
  EXPECT_EQ(judged.attempt, 1u);
  EXPECT_EQ(StateOf(), MarkerState::kNone);
  ExpectJudgedAsClaimed({New()});
  EXPECT_EQ(StateOf(), IfStoresClaims(subject()) ? MarkerState::kOpen : MarkerState::kNone);
}

WINDOW_TEST_F(JudgingTest, IfJudges, AFinishedIdIsJudgedAsItIsClaimed) {
  const Attempt first = With("x", 7);
  Claim(first);
  Complete(first, subject().can().keeps_results ? "result" : "");
  Attempt elsewhere = New();
  elsewhere.at = Elsewhere();
  ExpectJudgedAsClaimed({New(), elsewhere, first, With("x", 7), With("x", 8), New("y")});
  EXPECT_EQ(Judge(New()).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST_F(JudgingTest, (All<IfJudges, IfPartitionsOwnIds>),
              AnIdOfAnotherPartitionIsJudgedAsAnotherId) {
  const Attempt first = New();
  Claim(first);
  Complete(first);
  Attempt other = New();
  other.at = {0, 4, 5};
  EXPECT_EQ(Judge(other).answer, ClaimVerdict::kGranted);
  ExpectJudgedAsClaimed({other, New()});
}

WINDOW_TEST_F(JudgingTest, (All<IfJudges, IfStoresClaims>), AnOpenIdIsJudgedAsItIsClaimed) {
  const Attempt holder = With("x", 7);
  Claim(holder);
  ExpectJudgedAsClaimed({New(), Careful("x"), holder, With("x", 8), New("y")});
  EXPECT_EQ(Judge(New()).answer, ClaimVerdict::kInFlight);
  EXPECT_EQ(Complete(holder), MarkerChange::kMade);
}

WINDOW_TEST_F(JudgingTest, (All<IfJudges, IfStoresClaims>), AJudgedAttemptIsNotCounted) {
  const Attempt failed = New("failed");
  Claim(failed);
  ReleaseAsFailed(failed);
  EXPECT_EQ(Judge(New("failed")).attempt, 2u);
  ExpectJudgedAsClaimed({New("failed")});
}

WINDOW_TEST_F(JudgingTest, (All<IfJudges, AtOpaque>), AnUncertainIdIsJudgedAsItIsClaimed) {
  for (const char* id : {"x", "y"}) {
    const Attempt unsure = New(id);
    Claim(unsure);
    ReleaseAsUncertain(unsure);
  }
  EXPECT_TRUE(Judge(New("x")).uncertain);
  EXPECT_EQ(Judge(Careful("x")).answer, ClaimVerdict::kInFlight);
  ExpectJudgedAsClaimed({New("x"), Careful("y")});
}

WINDOW_TEST_F(JudgingTest, IfJudges, AParkedIdIsJudgedAsItIsClaimed) {
  constexpr uint64_t kEntry = 77;
  for (const char* id : {"x", "y"}) {
    const Attempt first = With(id, 7);
    Claim(first);
    ASSERT_EQ(Park(first, kEntry), MarkerChange::kMade);
  }
  Attempt redrive = With("y", 8);
  redrive.parked_entry = kEntry;
  EXPECT_EQ(Judge(redrive).answer, ClaimVerdict::kGranted);
  EXPECT_EQ(StateOf("y"), MarkerState::kParked);
  EXPECT_EQ(Judge(New("x")).entry, kEntry);
  ExpectJudgedAsClaimed({New("x"), With("x", 8), redrive});
}

WINDOW_TEST_F(JudgingTest, IfJudges, AnOwnershipIsJudgedAsItIsClaimed) {
  Attempt former = New();
  former.owner_epoch = Raise(3);
  Claim(former);
  Attempt in_another = New("y");
  in_another.at = {0, 4, 5};
  in_another.owner_epoch = Raise(4);
  Attempt owner = New();
  owner.owner_epoch = Raise(3);
  EXPECT_EQ(Judge(former).answer, ClaimVerdict::kFenced);
  EXPECT_EQ(Judge(in_another).answer, ClaimVerdict::kGranted);
  ExpectJudgedAsClaimed({former, New(), in_another});
  ExpectJudgedAsClaimed({owner});
}

WINDOW_TEST_F(JudgingTest, (All<IfJudges, WithLeases>), AJudgedClaimIsNotHeldLonger) {
  const Attempt holder = New();
  Claim(holder);
  Advance(kTimes.lease - kALittle);
  EXPECT_EQ(Judge(holder).answer, ClaimVerdict::kGranted);
  EXPECT_EQ(Judge(New()).answer, ClaimVerdict::kInFlight);
  Advance(kALittle + kALittle);
  EXPECT_EQ(Judge(Careful("x")).uncertain, opaque());
  ExpectJudgedAsClaimed({New()});
  EXPECT_EQ(Complete(holder), MarkerChange::kFenced) << "the claim took it over";
}

WINDOW_TEST_F(JudgingTest, (All<IfJudges, WithLeases>), ALateTruthIsKeptAfterALook) {
  const Attempt holder = New();
  Claim(holder);
  Advance(kTimes.lease + kALittle);
  EXPECT_EQ(Judge(New()).answer, ClaimVerdict::kGranted);
  EXPECT_EQ(Complete(holder), MarkerChange::kMade);
  ExpectJudgedAsClaimed({New()});
}

WINDOW_TEST_F(JudgingTest, IfJudges, AThousandIdsAndTheirCopiesAreJudgedInOneCall) {
  constexpr size_t kMany = 1'000;
  std::vector<std::string> ids;
  for (size_t i = 0; i < kMany; i++) {
    ids.push_back("id-" + std::to_string(i));
  }
  Attempts all{New("id")};  // alone, so that no even number of requests ends with a last copy
  Attempts open;
  std::vector<CompleteRequest> done;
  for (size_t i = 0; i < kMany; i++) {
    const Attempt& attempt = all.emplace_back(New(ids[i]));
    if (i % 3 != 0) {
      open.push_back(attempt);
    }
    if (i % 3 == 2) {
      done.push_back({.id = attempt.id, .token = attempt.token, .at = attempt.at});
    }
  }
  for (const std::string& id : ids) {
    all.push_back(New(id));
  }
  AnswersTo(open, &Window::Claim);
  std::vector<MarkerChange> changes(done.size());
  ASSERT_TRUE(window().Complete(done, changes).has_value());
  ExpectJudgedAsClaimed(all);
}

WINDOW_TEST_F(JudgingTest, IfJudges, AMalformedRequestRefusesTheLook) {
  const ClaimRequest good = ClaimOf(New("good"));
  const std::string overlong(subject().can().max_id_bytes + 1, 'i');
  ClaimRequest no_token = good;
  no_token.token = {};
  std::vector<ClaimAnswer> answers(2);
  for (const ClaimRequest& bad : {ClaimOf(New("")), ClaimOf(New(overlong)), no_token}) {
    const ClaimRequest requests[] = {good, bad};
    const Status refused = window().Judge(requests, answers);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Code::kInvalid);
  }
  const ClaimRequest two[] = {good, ClaimOf(New("other"))};
  EXPECT_FALSE(window().Judge(two, {answers.data(), 1}).has_value()) << "too few places";
}

}  // namespace oncemq::conformance
