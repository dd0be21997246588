// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/commit_metadata.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "oncemq/base/bytes.h"
#include "oncemq/base/hash.h"
#include "oncemq/framework/assignment.h"

namespace oncemq {
namespace {

CommitMetadata Sample() {
  CommitMetadata metadata;
  metadata.scope = 0x1234;
  metadata.recipe = 3;
  metadata.source_identity = 0xfeed;
  metadata.owner_epoch = 1'700'000'000'000'001;
  metadata.since = 5;
  metadata.top = 120;
  metadata.clean = true;
  metadata.abandoned = {101, 107};
  metadata.skipped.Append(10, 20);
  metadata.skipped.Append(30, 31);
  metadata.totals = {70, 12, 0, 3, 11};
  metadata.map.Append(103, 106);
  return metadata;
}

TEST(CommitMetadata, WhatIsWrittenIsRead) {
  const auto read = DecodeCommit(EncodeCommit(Sample(), 100), 100);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, Sample());
}

TEST(CommitMetadata, OffsetsWithoutOutcomeAreThoseBelowTheCommitAndInTheMapLessTheTotals) {
  CommitMetadata metadata = Sample();
  EXPECT_EQ(metadata.OffsetsWithoutOutcome(100), 100 - 5 + 3 - 96);
  metadata.totals.applied += 2;
  EXPECT_EQ(metadata.OffsetsWithoutOutcome(100), 0);
  metadata.totals.applied++;
  EXPECT_EQ(metadata.OffsetsWithoutOutcome(100), -1);
}

TEST(CommitMetadata, TheBoundsOfAnUncleanEndAreReadBack) {
  CommitMetadata metadata = Sample();
  metadata.clean = false;
  metadata.abandoned.clear();
  for (const auto& [reserved, inherited] :
       {std::pair(std::optional<int64_t>(), 0), std::pair(std::optional<int64_t>(250), 0),
        std::pair(std::optional<int64_t>(250), 130), std::pair(std::optional<int64_t>(0), 0)}) {
    metadata.reserved = reserved;
    metadata.inherited = inherited;
    const auto read = DecodeCommit(EncodeCommit(metadata, 100), 100);
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, metadata);
  }
}

// As versions before wrote it, and as every level but opaque does.
TEST(CommitMetadata, AnUncleanCommitNeedNotSayHowFarItsOwnerCame) {
  CommitMetadata metadata = Sample();
  metadata.clean = false;
  metadata.abandoned.clear();
  const std::string text = EncodeCommit(metadata, 100);
  EXPECT_NE(text.find(" c=0 b= k="), std::string::npos) << text;
  EXPECT_FALSE(DecodeCommit(text, 100)->reserved);
}

TEST(CommitMetadata, IsTextWithoutNulAndWithoutControlCharacters) {
  for (const char c : EncodeCommit(Sample(), 100)) {
    EXPECT_GE(c, ' ');
    EXPECT_LE(c, '~');
  }
}

TEST(CommitMetadata, ForeignTextIsNotOursWhateverItIs) {
  EXPECT_EQ(DecodeCommit("", 0).error().code, Code::kNotFound);
  EXPECT_EQ(DecodeCommit("set by hand", 0).error().code, Code::kNotFound);
}

// Whatever `fields` a version to come writes into the commit of the sample.
std::string Newer(const std::string& fields, std::string_view version = "oncemq/2 ") {
  std::string text = EncodeCommit(Sample(), 100);
  text.resize(text.rfind(" x="));
  text.replace(0, version.size(), version);
  text.insert(text.find("m="), fields);
  return text + " x=" + Hex(Crc32c(text)).substr(8);
}

TEST(CommitMetadata, ANewerVersionIsRefusedByName) {
  const auto read = DecodeCommit(Newer("", "oncemq/3 "), 100);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kInvalid);
  EXPECT_NE(read.error().message.find("newer version of oncemq (oncemq/3)"), std::string::npos);
  EXPECT_EQ(DecodeCommit("oncemq/20 anything", 0).error().code, Code::kInvalid);
}

TEST(CommitMetadata, AnOptionalFieldOfANewerVersionIsCarriedUnchanged) {
  const auto read = DecodeCommit(Newer("q=5 later=a,b "), 100);
  ASSERT_TRUE(read) << ToString(read.error());
  CommitMetadata expected = Sample();
  expected.optional.carried = "later=a,b q=5 ";
  EXPECT_EQ(*read, expected);
  const auto again = DecodeCommit(EncodeCommit(*read, 100), 100);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, expected);
}

TEST(CommitMetadata, AnOptionalFieldAfterTheMapIsCarriedToo) {
  std::string text = Newer("");
  text.resize(text.rfind(" x="));
  text += " q=5";
  const auto read = DecodeCommit(text + " x=" + Hex(Crc32c(text)).substr(8), 100);
  ASSERT_TRUE(read) << ToString(read.error());
  EXPECT_EQ(read->optional.carried, "q=5 ");
  const auto again = DecodeCommit(EncodeCommit(*read, 100), 100);
  ASSERT_TRUE(again) << ToString(again.error());
  EXPECT_EQ(*again, *read);
}

TEST(CommitMetadata, ARequiredFieldOfANewerVersionIsRefusedByName) {
  const auto read = DecodeCommit(Newer("Journal=7 q=5 "), 100);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kInvalid);
  EXPECT_NE(read.error().message.find("field Journal"), std::string::npos);
}

TEST(CommitMetadata, RefusalsOnRecordHoldForTheCommitThatCountsThem) {
  CommitMetadata metadata = Sample();
  metadata.optional.on_record = {.from = 7, .refused = 3};
  const std::string text = EncodeCommit(metadata, 100);
  EXPECT_NE(text.find("oncemq/2 "), std::string::npos) << text;
  EXPECT_NE(text.find(" j=7,3 "), std::string::npos) << text;
  auto read = DecodeCommit(text, 100);
  ASSERT_TRUE(read) << ToString(read.error());
  EXPECT_EQ(*read, metadata);
  EXPECT_EQ(read->RecordedFrom(), 7);
  read->totals.parked++;  // by a member that carries the field along
  EXPECT_EQ(DecodeCommit(EncodeCommit(*read, 100), 100)->RecordedFrom(), std::nullopt);
  EXPECT_EQ(Sample().RecordedFrom(), std::nullopt);
}

TEST(CommitMetadata, RefusalsOnRecordThatCannotBeReadStopThePartition) {
  EXPECT_TRUE(DecodeCommit(Newer("j=7,3 "), 100));
  for (const std::string field : {"j= ", "j=7 ", "j=7,3,1 ", "j=-7,3 ", "j=x,3 "}) {
    const auto read = DecodeCommit(Newer(field), 100);
    ASSERT_FALSE(read) << field;
    EXPECT_EQ(read.error().code, Code::kInvalid) << field;
  }
}

TEST(CommitMetadata, MoreThanCanBeCarriedIsRefusedRatherThanDropped) {
  const auto read = DecodeCommit(Newer("q=" + std::string(600, '1') + " "), 100);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kInvalid);
}

// Bytes as version 1 wrote them: the sample, and a commit of an unclean owner with all else.
constexpr char kFirstFormat[] =
    "oncemq/1 s=0000000000001234 r=3 i=000000000000feed o=00060a24181e4001 a=5 t=120 "
    "c=1 b=101,107 k=10,20,30,31 n=70,12,0,3,11 m=AwM x=ed050daa";
constexpr char kFirstUnclean[] =
    "oncemq/1 s=0000000000000007 r=1 i=0000000000000009 o=0000000000000001 a=0 t=260 "
    "c=0 b=250,130 k= n=100,0,0,2,0 w=0000000000000abc p=DAE m=Cgo x=babf96d5";

TEST(CommitMetadata, TheBytesOfTheFirstFormatAreReadAndWrittenAsBefore) {
  const auto read = DecodeCommit(kFirstFormat, 100);
  ASSERT_TRUE(read) << ToString(read.error());
  EXPECT_EQ(*read, Sample());
  EXPECT_EQ(EncodeCommit(Sample(), 100), kFirstFormat)
      << "a member of version 1 can go on where nothing new has to be said";
  const auto unclean = DecodeCommit(kFirstUnclean, 100);
  ASSERT_TRUE(unclean) << ToString(unclean.error());
  EXPECT_EQ(unclean->inherited, 130);
  EXPECT_EQ(unclean->incarnation, 0xabcu);
  EXPECT_EQ(EncodeCommit(*unclean, 100), kFirstUnclean);
}

TEST(CommitMetadata, UncertainCallsAreReadBackAndRaiseTheVersion) {
  CommitMetadata metadata = Sample();
  metadata.uncertain = 67;
  const std::string text = EncodeCommit(metadata, 100);
  EXPECT_TRUE(text.starts_with("oncemq/2 ")) << text;
  const auto read = DecodeCommit(text, 100);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, metadata);
}

CommitMetadata WithNotes() {
  CommitMetadata metadata = Sample();
  metadata.unclean_ends = 2;
  metadata.cautious_to = 109;
  metadata.killers = {{101, 2}, {7, 1}};
  metadata.alone = 107;
  return metadata;
}

TEST(CommitMetadata, WhatDeathsTellIsReadBackAndRaisesTheVersion) {
  const std::string text = EncodeCommit(WithNotes(), 100);
  EXPECT_TRUE(text.starts_with("oncemq/2 ")) << text;
  EXPECT_NE(text.find(" d=2,109 y=101,2,7,1 z=107,1700000000000001 "), std::string::npos) << text;
  const auto read = DecodeCommit(text, 100);
  ASSERT_TRUE(read) << ToString(read.error());
  EXPECT_EQ(*read, WithNotes());
}

// A member of an earlier version has moved the frontier, and repeated the field.
TEST(CommitMetadata, UncleanEndsCountUntilTheFrontierHasPassedTheirBound) {
  CommitMetadata metadata = WithNotes();
  metadata.map = {};
  EXPECT_EQ(DecodeCommit(EncodeCommit(metadata, 108), 108)->unclean_ends, 2u);
  const auto past = DecodeCommit(EncodeCommit(metadata, 109), 109);
  ASSERT_TRUE(past);
  EXPECT_EQ(past->unclean_ends, 0u);
  EXPECT_EQ(past->cautious_to, 0);
  EXPECT_EQ(past->killers, metadata.killers);
}

// A member of an earlier version runs many messages at once, and repeats the field.
TEST(CommitMetadata, AMessageIsAloneOnlyWithTheWriterThatItNames) {
  const auto read = DecodeCommit(Newer("z=107,1700000000000000 "), 100);
  ASSERT_TRUE(read) << ToString(read.error());
  EXPECT_FALSE(read->alone);
  EXPECT_EQ(DecodeCommit(Newer("z=107,1700000000000001 "), 100)->alone, 107);
}

TEST(CommitMetadata, StrangeNotesOfDeathsAreRefused) {
  for (const std::string fields : {"d=2 ", "d=0,5 ", "d=256,5 ", "d=1,2,3 ", "y=1 ", "y=1,0 ",
                                   "y=1,256 ", "y=1,1,2 ", "z=1 ", "z=1,2,3 ", "z=-1,2 "}) {
    const auto read = DecodeCommit(Newer(fields), 100);
    ASSERT_FALSE(read) << fields;
    EXPECT_EQ(read.error().code, Code::kInvalid) << fields;
  }
}

TEST(CommitMetadata, AnyChangedByteIsNoticed) {
  const std::string text = EncodeCommit(Sample(), 100);
  for (size_t i = 9; i < text.size(); i++) {
    std::string damaged = text;
    damaged[i] = damaged[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(DecodeCommit(damaged, 100)) << i;
  }
  EXPECT_FALSE(DecodeCommit(text.substr(0, text.size() - 1), 100));
}

TEST(CommitMetadata, NumbersAndListsThatNobodyOfUsWritesAreRefused) {
  const auto refused = [](void (*change)(CommitMetadata&)) {
    CommitMetadata metadata = Sample();
    change(metadata);
    const auto read = DecodeCommit(EncodeCommit(metadata, 100), 100);
    return !read && read.error().code == Code::kInvalid;
  };
  EXPECT_TRUE(refused([](CommitMetadata& m) { m.owner_epoch = UINT64_MAX; }));
  EXPECT_TRUE(refused([](CommitMetadata& m) { m.totals.skipped = INT64_MAX; }));
  EXPECT_TRUE(refused([](CommitMetadata& m) { m.abandoned.assign(kMaxAbandoned + 1, 101); }));
  EXPECT_TRUE(refused([](CommitMetadata& m) {
    m.clean = false;
    m.reserved = 110;
    m.inherited = 111;  // of what the writer began itself, and yet in doubt before
  }));
}

TEST(CommitMetadata, WhatIsFinishedButNotDoneIsReadBack) {
  CommitMetadata metadata = Sample();
  metadata.map = {};
  metadata.map.Append(110, 120);
  metadata.not_done.Append(112, 113);
  metadata.not_done.Append(115, 120);
  const auto read = DecodeCommit(EncodeCommit(metadata, 100), 100);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, metadata);
}

TEST(CommitMetadata, WhatIsNotDoneAndNotInTheMapIsRefused) {
  CommitMetadata metadata = Sample();
  metadata.map = {};
  metadata.map.Append(110, 120);
  metadata.not_done.Append(119, 121);
  const auto read = DecodeCommit(EncodeCommit(metadata, 100), 100);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kInvalid);
}

TEST(CommitMetadata, AMapWithinItsBudgetFitsInTheBrokersLimit) {
  CommitMetadata metadata = Sample();
  metadata.owner_epoch = ~uint64_t{0};
  const size_t budget = MapBudget(metadata);
  EXPECT_GT(budget, 2'500u);
  int64_t at = 100;
  metadata.map = {};
  while (metadata.map.Encode(100).size() + 4 <= budget) {
    metadata.map.Append(at + 200, at + 400);
    at += 400;
  }
  metadata.totals = {1'000'000'000'000, 1'000'000'000'000, 0, 0, 0};
  EXPECT_LE(EncodeCommit(metadata, 100).size(), kMaxCommitMetadata);
}

RC_GTEST_PROP(CommitMetadata, AnyTextIsReadOrRefused, (const std::string& text)) {
  RC_ASSERT(!DecodeCommit("oncemq/1 " + text, 0).has_value());
}

AssignRules Rules() {
  AssignRules rules;
  rules.scope = 0x1234;
  rules.recipe = 3;
  rules.source_identity = 0xfeed;
  rules.fresh_start = 42;
  return rules;
}

TEST(ResolveAssignment, WithoutACommitTheStartPolicyDecidesAndHistoryBeginsThere) {
  const auto assignment = ResolveAssignment({}, {0, 500}, Rules());
  ASSERT_TRUE(assignment);
  EXPECT_EQ(assignment->facts.start, 42);
  EXPECT_EQ(assignment->facts.metadata.since, 42);
}

TEST(ResolveAssignment, OurCommitIsContinued) {
  const auto assignment = ResolveAssignment({100, EncodeCommit(Sample(), 100)}, {0, 500}, Rules());
  ASSERT_TRUE(assignment);
  EXPECT_EQ(assignment->facts.start, 100);
  EXPECT_EQ(assignment->facts.metadata, Sample());
  EXPECT_TRUE(assignment->notice.empty());
}

TEST(ResolveAssignment, ACommitWithoutOurMetadataIsAnOperatorsAct) {
  const auto assignment = ResolveAssignment({100, ""}, {0, 500}, Rules());
  ASSERT_TRUE(assignment);
  EXPECT_EQ(assignment->facts.start, 100);
  EXPECT_EQ(assignment->facts.metadata.since, 100) << "nothing below it is finished";
  EXPECT_EQ(assignment->facts.metadata.totals, Totals{});
  EXPECT_EQ(assignment->facts.metadata.top, 500) << "what comes after it, nobody has handled";
  EXPECT_FALSE(assignment->notice.empty());
}

std::vector<OffsetMap::Range> SuspectsOf(CommitMetadata metadata, int64_t log_end) {
  AssignRules rules = Rules();
  rules.suspects = true;
  const auto assignment =
      ResolveAssignment({100, EncodeCommit(metadata, 100)}, {0, log_end}, rules);
  EXPECT_TRUE(assignment);
  return assignment ? assignment->facts.suspects.ranges() : std::vector<OffsetMap::Range>();
}

CommitMetadata Unclean(std::optional<int64_t> reserved) {
  CommitMetadata metadata = Sample();
  metadata.clean = false;
  metadata.abandoned.clear();
  metadata.reserved = reserved;
  return metadata;
}

using Ranges = std::vector<OffsetMap::Range>;

// Rule 11. The map of the sample is [103, 106).
TEST(ResolveAssignment, AfterAnUncleanEndAllThatWasReservedAndIsNotFinishedIsSuspect) {
  EXPECT_EQ(SuspectsOf(Unclean(120), 500), (Ranges{{100, 103}, {106, 120}}));
  EXPECT_EQ(SuspectsOf(Unclean(105), 500), (Ranges{{100, 103}}));
  EXPECT_EQ(SuspectsOf(Unclean(102), 500), (Ranges{{100, 102}}));
  EXPECT_EQ(SuspectsOf(Unclean(100), 500), Ranges{}) << "nothing had been reserved";
}

TEST(ResolveAssignment, NothingBeyondTheLogWasBegun) {
  EXPECT_EQ(SuspectsOf(Unclean(1'000'000), 110), (Ranges{{100, 103}, {106, 110}}));
}

TEST(ResolveAssignment, ACommitThatDoesNotSayHowFarMakesAllOfTheLogSuspect) {
  EXPECT_EQ(SuspectsOf(Unclean(std::nullopt), 130), (Ranges{{100, 103}, {106, 130}}));
}

TEST(ResolveAssignment, AfterACleanEndOnlyWhatItNamesIsSuspect) {
  CommitMetadata metadata = Sample();
  metadata.abandoned = {120, 101, 101, 104, 99, 600};  // finished, below, and beyond the log
  EXPECT_EQ(SuspectsOf(metadata, 500), (Ranges{{101, 102}, {120, 121}}));
  metadata.abandoned.clear();
  EXPECT_EQ(SuspectsOf(metadata, 500), Ranges{});
}

TEST(ResolveAssignment, WithoutACommitNobodyHasBegunAnythingAndAResetProvesNothing) {
  AssignRules rules = Rules();
  rules.suspects = true;
  EXPECT_TRUE(ResolveAssignment({}, {0, 500}, rules)->facts.suspects.empty());
  const auto reset = ResolveAssignment({100, ""}, {0, 500}, rules);
  EXPECT_EQ(reset->facts.suspects.ranges(), (Ranges{{100, 500}}));
}

TEST(ResolveAssignment, WhereNobodyAsksNothingIsSuspect) {
  const auto text = EncodeCommit(Unclean(120), 100);
  EXPECT_TRUE(ResolveAssignment({100, text}, {0, 500}, Rules())->facts.suspects.empty());
}

TEST(WindowKnowsSuspects, ButForWhatItsOwnOwnerInherited) {
  AssignFacts facts;
  facts.metadata = Unclean(120);
  facts.metadata.inherited = 110;
  WindowKnowsSuspects(facts);
  EXPECT_EQ(facts.reported_below, 110);
  AssignFacts clean;
  clean.metadata = Sample();
  WindowKnowsSuspects(clean);
  EXPECT_GT(clean.reported_below, 1'000'000) << "what a list names is told in any case";
}

TEST(ResolveAssignment, ADamagedMapIsIgnoredAndTheOffsetKept) {
  std::string text = EncodeCommit(Sample(), 100);
  text.back() = text.back() == '0' ? '1' : '0';
  const auto assignment = ResolveAssignment({100, text}, {0, 500}, Rules());
  ASSERT_TRUE(assignment);
  EXPECT_TRUE(assignment->facts.metadata.map.empty());
}

TEST(ResolveAssignment, ACommitOfANewerVersionIsNoReset) {
  const auto refused = ResolveAssignment({100, Newer("Journal=7 ")}, {0, 500}, Rules());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  const auto goes_on = ResolveAssignment({100, Newer("q=5 ")}, {0, 500}, Rules());
  ASSERT_TRUE(goes_on);
  EXPECT_EQ(goes_on->facts.metadata.totals, Sample().totals);
  EXPECT_TRUE(goes_on->notice.empty());
}

TEST(ResolveAssignment, ACommitBeyondTheLogMeansAnotherLog) {
  EXPECT_EQ(ResolveAssignment({100, EncodeCommit(Sample(), 100)}, {0, 99}, Rules()).error().code,
            Code::kCorrupt);
}

TEST(ResolveAssignment, LostRecordsAreAnIncidentNotAReset) {
  const auto assignment =
      ResolveAssignment({100, EncodeCommit(Sample(), 100)}, {150, 500}, Rules());
  ASSERT_FALSE(assignment);
  EXPECT_NE(assignment.error().message.find("100 to 149"), std::string::npos);
}

TEST(ResolveAssignment, RecordsThatAreGoneAreSkippedAndCountedWhereThePolicySaysSo) {
  AssignRules rules = Rules();
  rules.resume_at_log_start = true;
  CommitMetadata before = Sample();
  before.map = {};
  before.map.Append(110, 120);
  before.map.Append(148, 152);
  before.map.Append(160, 170);
  before.not_done.Append(115, 116);
  before.not_done.Append(151, 152);
  before.not_done.Append(165, 167);
  auto assignment = ResolveAssignment({100, EncodeCommit(before, 100)}, {150, 500}, rules);
  ASSERT_TRUE(assignment);
  const AssignFacts& facts = assignment->facts;
  EXPECT_EQ(facts.start, 100) << "a window judges the commit as it stands";
  BeginInLog(*assignment);
  EXPECT_EQ(facts.start, 152) << "the map goes on across the log's start";
  EXPECT_EQ(facts.read_from, 152);
  EXPECT_EQ(facts.metadata.totals.skipped, before.totals.skipped + 50 - 10 - 2);
  EXPECT_EQ(facts.metadata.totals.applied, before.totals.applied);
  EXPECT_TRUE(facts.metadata.skipped.Contains(149));
  ASSERT_EQ(facts.metadata.map.ranges().size(), 1u);
  EXPECT_EQ(facts.metadata.map.ranges()[0], (OffsetMap::Range{160, 170}));
  ASSERT_EQ(facts.metadata.not_done.ranges().size(), 1u);
  EXPECT_EQ(facts.metadata.not_done.ranges()[0], (OffsetMap::Range{165, 167}));
  EXPECT_NE(assignment->notice.find("100 to 149"), std::string::npos);
}

TEST(ResolveAssignment, TheListOfWhatWasSkippedFitsTheMetadataForEver) {
  AssignRules rules = Rules();
  rules.resume_at_log_start = true;
  std::string text = EncodeCommit(Sample(), 100);
  int64_t at = 100;
  for (int i = 0; i < 1000; i++) {
    auto assignment = ResolveAssignment({at, text}, {at + 1, 1'000'000'000}, rules);
    ASSERT_TRUE(assignment) << i;
    BeginInLog(*assignment);
    at = assignment->facts.start + 1'000;
    CommitMetadata metadata = assignment->facts.metadata;
    metadata.map = {};
    text = EncodeCommit(metadata, at);
    ASSERT_TRUE(DecodeCommit(text, at)) << i;
  }
}

TEST(ResolveAssignment, ACommitWithoutMetadataBelowTheLogStartsThereByPolicy) {
  AssignRules rules = Rules();
  rules.resume_at_log_start = true;
  auto assignment = ResolveAssignment({100, ""}, {150, 500}, rules);
  ASSERT_TRUE(assignment);
  BeginInLog(*assignment);
  EXPECT_EQ(assignment->facts.start, 150);
  EXPECT_EQ(assignment->facts.metadata.since, 150);
}

TEST(ResolveAssignment, AMapBeyondTheLogIsAnIncident) {
  EXPECT_FALSE(ResolveAssignment({100, EncodeCommit(Sample(), 100)}, {0, 104}, Rules()));
}

TEST(ResolveAssignment, AnotherScopeRecipeOrSourceIsRefused) {
  const CommittedPosition committed{100, EncodeCommit(Sample(), 100)};
  AssignRules rules = Rules();
  rules.scope = 1;
  EXPECT_FALSE(ResolveAssignment(committed, {0, 500}, rules));
  rules = Rules();
  rules.recipe = 4;
  EXPECT_FALSE(ResolveAssignment(committed, {0, 500}, rules));
  rules = Rules();
  rules.source_identity = 1;
  EXPECT_FALSE(ResolveAssignment(committed, {0, 500}, rules));
}

AssignFacts Past(int64_t since, int64_t start) {
  AssignFacts facts;
  facts.start = start;
  facts.metadata.since = since;
  return facts;
}

TEST(PlanCatchUp, ReadsTheWholeHistoryOfTheScope) {
  const CatchUpPlan plan = PlanCatchUp(Past(10, 100), {0, 500}, 1'000);
  EXPECT_EQ(plan.from, 10);
  EXPECT_TRUE(plan.gap.empty());
}

TEST(PlanCatchUp, AnOperatorsResetHasNoPast) {
  EXPECT_EQ(PlanCatchUp(Past(100, 100), {0, 500}, 1'000).from, 100);
}

TEST(PlanCatchUp, WhatIsGoneFromTheLogOrBeyondTheBudgetIsAGap) {
  const CatchUpPlan retention = PlanCatchUp(Past(10, 100), {40, 500}, 1'000);
  EXPECT_EQ(retention.from, 40);
  EXPECT_FALSE(retention.gap.empty());
  const CatchUpPlan budget = PlanCatchUp(Past(10, 100), {0, 500}, 20);
  EXPECT_EQ(budget.from, 80);
  EXPECT_FALSE(budget.gap.empty());
}

TEST(PlanCatchUp, ACompactedLogMayHaveLostAnyIdOfIt) {
  const CatchUpPlan plan = PlanCatchUp(Past(10, 100), {0, 500, /*compacted=*/true}, 1'000);
  EXPECT_EQ(plan.from, 10) << "what is left is worth reading";
  EXPECT_FALSE(plan.gap.empty());
  EXPECT_TRUE(PlanCatchUp(Past(100, 100), {0, 500, true}, 1'000).gap.empty());
}

TEST(PlanCatchUp, RefusedMessagesAreNotTakenForDone) {
  AssignFacts facts = Past(10, 100);
  facts.metadata.totals.rejected = 1;
  const CatchUpPlan plan = PlanCatchUp(facts, {0, 500}, 1'000);
  EXPECT_EQ(plan.from, 100);
  EXPECT_FALSE(plan.gap.empty());
}

TEST(PlanCatchUp, WhereTheParkTopicTellsTheRefusedMessagesTheRestIsRead) {
  AssignFacts facts = Past(10, 100);
  facts.metadata.totals = {.parked = 2, .rejected = 1};
  facts.metadata.optional.on_record = {.from = 10, .refused = 3};
  const CatchUpPlan plan = PlanCatchUp(facts, {0, 500}, 1'000, /*reads_park=*/true);
  EXPECT_EQ(plan.from, 10);
  EXPECT_EQ(plan.gap, "");
  EXPECT_EQ(PlanCatchUp(facts, {0, 500}, 1'000).from, 100) << "nobody reads it";
  facts.metadata.totals.rejected++;
  EXPECT_EQ(PlanCatchUp(facts, {0, 500}, 1'000, true).from, 100)
      << "an owner without a park topic has refused one since";
}

TEST(PlanCatchUp, NothingIsReadBelowTheFirstRefusalOnRecord) {
  AssignFacts facts = Past(10, 100);
  facts.metadata.totals.parked = 3;
  facts.metadata.optional.on_record = {.from = 60, .refused = 3};
  const CatchUpPlan plan = PlanCatchUp(facts, {0, 500}, 1'000, true);
  EXPECT_EQ(plan.from, 60);
  EXPECT_EQ(plan.gap, "what was refused below 60 is not in the park topic");
  EXPECT_EQ(PlanCatchUp(facts, {80, 500}, 1'000, true).from, 80);
  facts.metadata.optional.on_record->from = 120;
  EXPECT_EQ(PlanCatchUp(facts, {0, 500}, 1'000, true).from, 100);
  facts.metadata.totals = {};
  facts.metadata.optional.on_record->refused = 0;
  EXPECT_EQ(PlanCatchUp(facts, {0, 500}, 1'000, true).from, 10) << "nothing was refused";
}

}  // namespace
}  // namespace oncemq
