// SPDX-License-Identifier: Apache-2.0
// Effects and markers are one (level atomic): both are there, or neither. (Transition 5; rules 2
// and 5.)
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "window_test.h"

namespace oncemq::conformance {
namespace {

bool AtAtomic(const Subject& subject) {
  return subject.level == Level::kAtomic && subject.can().keeps_rows;
}
bool AtAtomicIfDurable(const Subject& subject) {
  return AtAtomic(subject) && subject.can().durable;
}

std::optional<Code> CodeOf(const Status& status) {
  return status ? std::nullopt : std::optional(status.error().code);
}

// Of a class that no window knows.
class UnknownBatch final : public EffectBatch {
 public:
  void Begin() override {}
  Status Keep() override { return {}; }
  void Undo() override {}
};

class EffectsTest : public WindowTest {
 public:
  using WindowTest::WindowTest;

 protected:
  std::unique_ptr<EffectBatch> NewBatch() {
    auto batch = window().NewEffects(0, 3, {});
    EXPECT_TRUE(batch);
    return batch ? *std::move(batch) : nullptr;
  }
  Attempt Granted(std::string_view id) {
    const Attempt attempt = New(id);
    EXPECT_EQ(Claim(attempt).answer, ClaimVerdict::kGranted);
    return attempt;
  }
  // Completes them all with the effects; the answers, which are all the same.
  MarkerChange CompleteWith(EffectBatch& effects, const std::vector<Attempt>& attempts) {
    std::vector<CompleteRequest> requests;
    for (const Attempt& attempt : attempts) {
      requests.push_back({.id = attempt.id, .token = attempt.token, .at = attempt.at});
    }
    std::vector<MarkerChange> answers(requests.size());
    EXPECT_TRUE(window().CompleteWith(effects, requests, answers));
    for (const MarkerChange answer : answers) {
      EXPECT_EQ(answer, answers.front());
    }
    return answers.front();
  }
  static void Do(EffectBatch& effects, std::string_view key, std::string_view value) {
    effects.Begin();
    EXPECT_TRUE(effects.rows()->Put(key, value));
    EXPECT_TRUE(effects.Keep());
  }
  std::optional<std::string> Row(std::string_view key) {
    auto row = NewBatch()->rows()->Get(key);
    EXPECT_TRUE(row);
    return row.value_or(std::nullopt);
  }
  int64_t Sum(std::string_view key) {
    const auto row = Row(key);
    return row ? SumOf(*row).value_or(-1) : 0;
  }
};

}  // namespace

WINDOW_TEST_F(EffectsTest, AtAtomic, AnEffectIsThereOnceItsMarkerIs) {
  const Attempt attempt = Granted("x");
  const auto effects = NewBatch();
  Do(*effects, "row", "value");
  EXPECT_EQ(Row("row"), std::nullopt) << "nobody else sees it before";
  EXPECT_EQ(CompleteWith(*effects, {attempt}), MarkerChange::kMade);
  EXPECT_EQ(Row("row"), "value");
  EXPECT_EQ(StateOf(), MarkerState::kDone);
}

WINDOW_TEST_F(EffectsTest, AtAtomicIfDurable, EffectAndMarkerOutliveTheProcessTogether) {
  const Attempt attempt = Granted("x");
  const auto effects = NewBatch();
  Do(*effects, "row", "value");
  effects->Begin();
  EXPECT_TRUE(effects->rows()->Add("sum", 41));
  EXPECT_TRUE(effects->Keep());
  EXPECT_EQ(CompleteWith(*effects, {attempt}), MarkerChange::kMade);
  static_cast<void>(Granted("y"));
  const auto lost = NewBatch();
  Do(*lost, "lost", "value");
  Reopen();
  EXPECT_EQ(Row("row"), "value");
  EXPECT_EQ(Sum("sum"), 41);
  EXPECT_EQ(StateOf("x"), MarkerState::kDone);
  EXPECT_EQ(Row("lost"), std::nullopt);
  EXPECT_EQ(Claim(New("y")).answer, ClaimVerdict::kGranted);
}

WINDOW_TEST_F(EffectsTest, AtAtomic, WhereOneClaimIsLostNothingOfTheBatchIsWritten) {
  const OwnerEpoch first = Raise(3);
  Attempt lost = New("x");
  lost.owner_epoch = first;
  EXPECT_EQ(Claim(lost).answer, ClaimVerdict::kGranted);
  const Attempt kept = Granted("y");
  const auto effects = NewBatch();
  Do(*effects, "row of x", "value");
  Do(*effects, "row of y", "value");
  Attempt successor = New("x");
  successor.owner_epoch = Raise(3);
  EXPECT_EQ(Claim(successor).answer, ClaimVerdict::kGranted) << "takes over at once";
  EXPECT_EQ(CompleteWith(*effects, {lost, kept}), MarkerChange::kFenced);
  EXPECT_EQ(Row("row of x"), std::nullopt);
  EXPECT_EQ(Row("row of y"), std::nullopt);
  EXPECT_EQ(StateOf("x"), MarkerState::kOpen);
  EXPECT_EQ(StateOf("y"), MarkerState::kOpen);
  EXPECT_EQ(Release(kept), MarkerChange::kMade) << "it is still its claim";
}

WINDOW_TEST_F(EffectsTest, AtAtomic, ABatchIsWrittenOnceAndNotAgain) {
  const Attempt attempt = Granted("x");
  const auto effects = NewBatch();
  effects->Begin();
  EXPECT_TRUE(effects->rows()->Add("sum", 5));
  EXPECT_TRUE(effects->Keep());
  EXPECT_EQ(CompleteWith(*effects, {attempt}), MarkerChange::kMade);
  EXPECT_EQ(CompleteWith(*effects, {attempt}), MarkerChange::kFenced);
  EXPECT_EQ(Sum("sum"), 5);
}

WINDOW_TEST_F(EffectsTest, AtAtomic, AMessageThatFailsLeavesNothingBehind) {
  const Attempt attempt = Granted("x");
  const auto effects = NewBatch();
  Do(*effects, "row", "first");
  effects->Begin();
  EXPECT_TRUE(effects->rows()->Put("row", "second"));
  EXPECT_TRUE(effects->rows()->Put("other", "second"));
  EXPECT_TRUE(effects->rows()->Add("sum", 7));
  EXPECT_TRUE(effects->rows()->Delete("row"));
  effects->Undo();
  EXPECT_EQ(*effects->rows()->Get("row"), "first");
  EXPECT_EQ(CompleteWith(*effects, {attempt}), MarkerChange::kMade);
  EXPECT_EQ(Row("row"), "first");
  EXPECT_EQ(Row("other"), std::nullopt);
  EXPECT_EQ(Row("sum"), std::nullopt);
}

WINDOW_TEST_F(EffectsTest, AtAtomic, AHandlerReadsWhatWasWrittenBeforeItInItsRun) {
  const Attempt earlier = Granted("w");
  const auto before = NewBatch();
  Do(*before, "old", "stored");
  EXPECT_EQ(CompleteWith(*before, {earlier}), MarkerChange::kMade);
  const auto effects = NewBatch();
  EXPECT_EQ(*effects->rows()->Get("old"), "stored");
  Do(*effects, "row", "of the first");
  effects->Begin();
  EXPECT_EQ(*effects->rows()->Get("row"), "of the first");
  EXPECT_TRUE(effects->rows()->Put("row", "of the second"));
  EXPECT_EQ(*effects->rows()->Get("row"), "of the second");
  EXPECT_TRUE(effects->rows()->Delete("old"));
  EXPECT_EQ(*effects->rows()->Get("old"), std::nullopt);
  EXPECT_TRUE(effects->rows()->Add("old", 3));
  EXPECT_EQ(SumOf(**effects->rows()->Get("old")), 3) << "of a row that is deleted, it begins at 0";
}

WINDOW_TEST_F(EffectsTest, AtAtomic, SumsThatTwoRunsChangeAtTheSameTimeLoseNothing) {
  const Attempt one = Granted("x");
  const Attempt other = Granted("y");
  const auto first = NewBatch();
  const auto second = NewBatch();
  for (EffectBatch* effects : {first.get(), second.get()}) {
    effects->Begin();
    EXPECT_TRUE(effects->rows()->Add("sum", 10));
    EXPECT_TRUE(effects->Keep());
  }
  EXPECT_EQ(CompleteWith(*second, {other}), MarkerChange::kMade);
  EXPECT_EQ(CompleteWith(*first, {one}), MarkerChange::kMade);
  EXPECT_EQ(Sum("sum"), 20);
}

WINDOW_TEST_F(EffectsTest, AtAtomic, OfTwoRunsThatWatchARowAndChangeItTheFirstOneIsWritten) {
  const Attempt one = Granted("x");
  const Attempt other = Granted("y");
  const auto first = NewBatch();
  const auto second = NewBatch();
  for (EffectBatch* effects : {first.get(), second.get()}) {
    effects->Begin();
    EXPECT_EQ(*effects->rows()->Watch("row"), std::nullopt);
    EXPECT_TRUE(
        effects->rows()->Put("row", effects == first.get() ? "of the first" : "of the second"));
    EXPECT_TRUE(effects->Keep());
  }
  EXPECT_EQ(CompleteWith(*second, {other}), MarkerChange::kMade);
  EXPECT_EQ(CompleteWith(*first, {one}), MarkerChange::kFenced);
  EXPECT_EQ(Row("row"), "of the second");
  EXPECT_EQ(StateOf("x"), MarkerState::kOpen);
  const auto again = NewBatch();
  again->Begin();
  EXPECT_EQ(*again->rows()->Watch("row"), "of the second");
  EXPECT_TRUE(again->rows()->Put("row", "of the first"));
  EXPECT_TRUE(again->Keep());
  EXPECT_EQ(CompleteWith(*again, {one}), MarkerChange::kMade);
  EXPECT_EQ(Row("row"), "of the first");
}

// Whatever the window writes next must not carry them along.
WINDOW_TEST_F(EffectsTest, AtAtomic, EffectsWithoutARequestAreRefusedAndNeverWritten) {
  const Attempt attempt = Granted("x");
  const auto effects = NewBatch();
  Do(*effects, "row", "value");
  const Status refused = window().CompleteWith(*effects, {}, {});
  EXPECT_EQ(CodeOf(refused), Code::kInvalid) << "no marker would stand for them";
  const Announcement announced{.partition = 3, .to = 5, .offset = 5, .metadata = "a commit"};
  EXPECT_TRUE(window().Announce({&announced, 1}));
  EXPECT_EQ(Complete(attempt), MarkerChange::kMade);
  EXPECT_EQ(Row("row"), std::nullopt);
  EXPECT_EQ(CompleteWith(*effects, {Granted("y")}), MarkerChange::kMade)
      << "the batch is as it was";
  EXPECT_EQ(Row("row"), "value");
}

WINDOW_TEST_F(EffectsTest, AtAtomic, OnlyTheWindowThatMadeABatchTakesIt) {
  const Attempt attempt = Granted("x");
  const CompleteRequest request{.id = attempt.id, .token = attempt.token, .at = attempt.at};
  MarkerChange answer{};
  auto other = subject().engine->open({subject().level, kTimes});
  ASSERT_TRUE(other.has_value()) << ToString(other.error());
  auto others = (*other)->NewEffects(0, 3, {});
  ASSERT_TRUE(others.has_value()) << ToString(others.error());
  Do(**others, "row", "value");
  EXPECT_EQ(CodeOf(window().CompleteWith(**others, {&request, 1}, {&answer, 1})), Code::kInvalid);
  UnknownBatch unknown;
  EXPECT_EQ(CodeOf(window().CompleteWith(unknown, {&request, 1}, {&answer, 1})), Code::kInvalid);
  EXPECT_EQ(StateOf("x"), MarkerState::kOpen);
  EXPECT_EQ(Row("row"), std::nullopt);
}

WINDOW_TEST_F(EffectsTest, AtAtomic, ARowThatCannotBeIsRefusedToTheHandler) {
  const auto effects = NewBatch();
  effects->Begin();
  EXPECT_EQ(effects->rows()->Put("", "value").error().code, Code::kInvalid);
  EXPECT_EQ(effects->rows()->Put(std::string(kMaxEffectKeyBytes + 1, 'k'), "").error().code,
            Code::kInvalid);
  EXPECT_TRUE(effects->rows()->Put(std::string(kMaxEffectKeyBytes, '\0'), ""));
  EXPECT_EQ(effects->rows()->Put("large", std::string(kMaxEffectBytes, 'v')).error().code,
            Code::kFull);
  EXPECT_TRUE(effects->rows()->Put("text", "no sum"));
  EXPECT_EQ(effects->rows()->Add("text", 1).error().code, Code::kInvalid);
  EXPECT_TRUE(effects->rows()->Add("sum", INT64_MAX));
  EXPECT_EQ(effects->rows()->Add("sum", 1).error().code, Code::kInvalid);
  EXPECT_EQ(SumOf(**effects->rows()->Get("sum")), INT64_MAX) << "nothing was changed";
}

}  // namespace oncemq::conformance
