// SPDX-License-Identifier: Apache-2.0
// The page must be readable by anybody's parser, and say nothing but what was counted.
#include "report_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "chart.h"
#include "oncemq/base/bytes.h"
#include "words.h"
#include "xml_text.h"

namespace oncemq::demo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

PageFacts SomeRun() {
  PageFacts facts{.origin = {"0.1.0", "2026-11-25 17:21 UTC", 2, "Debian 12, Linux 6.1 x86_64"},
                  .payments = 20'000,
                  .messages = 22'000,
                  .accounts = 97,
                  .seed = 7};
  facts.with.findings = {{true, "each payment once", "20,000 of 20,000", ""},
                         {true, "only here", "1 = 1", ""}};
  facts.without.findings = {{false, "each payment once", "booked again 2,305", "double 2,305"}};
  facts.without.doubles = {
      .resent = 2'000, .resent_cents = 98'930'531, .killed = 305, .killed_cents = 1'234'567};
  facts.with.left = {"A", 196, 40};
  facts.without.left = {"A", 303, 2};
  Sampler sampler;
  sampler.Sample(100, {1'200, 30});
  sampler.Sample(1'700, {20'000, 2'196});
  facts.with.timeline = {
      sampler.steps(), {{800, "SIGKILL A", true}}, {{800, 1'700, "waits for the session"}}};
  facts.without.timeline = {{{11'000, 1'305}, {9'000, 1'000}}, {{900, "SIGKILL A", true}}};
  return facts;
}

// The figures in front of `word`, in all titles of bars.
int64_t SumOfBars(std::string_view page, const std::string& word) {
  int64_t sum = 0;
  for (size_t at = page.find("<g><title>"); at != std::string_view::npos;
       at = page.find("<g><title>", at + 1)) {
    const std::string_view title = page.substr(at, page.find("</title>", at) - at);
    const size_t end = title.find(" " + word);
    if (end == std::string_view::npos) {
      continue;
    }
    std::string digits;
    for (const char c : title.substr(0, end).substr(title.rfind(' ', end - 1) + 1)) {
      digits += c == ',' ? "" : std::string(1, c);
    }
    const auto figure = ParseDecimal(digits);
    EXPECT_TRUE(figure) << title;
    sum += figure.value_or(0);
  }
  return sum;
}

TEST(ReportPage, IsWellFormed) {
  EXPECT_EQ(WhyNotXml(ReportPage(SomeRun())), "");
}

TEST(ReportPage, IsWellFormedForARunWithoutAnything) {
  EXPECT_EQ(WhyNotXml(ReportPage({})), "");
}

TEST(ReportPage, StaysWellFormedWhateverTheWordsAre) {
  PageFacts facts = SomeRun();
  const std::string evil = "</td><script>alert(\"x\")</script> & ]]> ' \x1b \xff";
  facts.with.findings.push_back({false, evil, evil, evil});
  facts.without.findings.push_back({false, evil, evil, evil});
  facts.with.timeline.marks.push_back({100, evil, false});
  const std::string page = ReportPage(facts);
  EXPECT_EQ(WhyNotXml(page), "");
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST(ReportPage, ItsBarsAddUpToTheCounters) {
  const std::string page = ReportPage(SomeRun());
  EXPECT_EQ(SumOfBars(page, "applied"), 20'000);
  EXPECT_EQ(SumOfBars(page, "suppressed"), 2'196);
  EXPECT_EQ(SumOfBars(page, "booked for the first time"), 20'000);
  EXPECT_EQ(SumOfBars(page, "booked again"), 2'305);
  for (const char* legend : {">20,000 applied<", ">2,196 suppressed<",
                             ">20,000 booked for the first", ">2,305 booked again<"}) {
    EXPECT_THAT(page, HasSubstr(legend));
  }
}

TEST(ReportPage, SaysOfBothRunsWhatWasFound) {
  const std::string page = ReportPage(SomeRun());
  EXPECT_THAT(page, HasSubstr("verdict: OK"));
  EXPECT_THAT(page, HasSubstr("verdict: FAILED"));
  EXPECT_THAT(page, HasSubstr("20,000 of 20,000"));
  EXPECT_THAT(page, HasSubstr("booked again 2,305"));
  EXPECT_THAT(page, HasSubstr("0 double bookings, 0.00 EUR paid twice"));
  EXPECT_THAT(page, HasSubstr("2,305 double bookings, 1,001,650.98 EUR paid twice"));
  EXPECT_THAT(page, HasSubstr("2,305 bookings too many = 2,000 copies that the producer sent "
                              "(989,305.31 EUR) + 305 that the kill brought back (12,345.67 EUR)"));
  EXPECT_THAT(page, HasSubstr("say 303 done and not committed, 2 begun; all of it "
                              "was booked again"));
  EXPECT_THAT(page, HasSubstr("say 196 done and not committed, 40 begun; the former "
                              "were recognised"));
  EXPECT_THAT(page, HasSubstr("20,000 payments between 97 accounts"));
  EXPECT_THAT(page, HasSubstr("sent 2,000 of them twice"));
}

TEST(ReportPage, SaysOfTheKillNoMoreThanTheFiguresTell) {
  PageFacts facts = SomeRun();
  facts.with.findings.push_back({false, "more", "1 = 2", "one too many"});
  facts.without.left.done++;
  const std::string page = ReportPage(facts);
  EXPECT_THAT(page, Not(HasSubstr("were recognised")));
  EXPECT_THAT(page, Not(HasSubstr("all of it was booked again")));
}

TEST(ReportPage, SaysWhatItDoesNotShow) {
  const std::string page = ReportPage(SomeRun());
  for (const char* limit : {"All workers run on one host", "level atomic", "cannot have this level",
                            "UNIQUE column", "embedded in the demo"}) {
    EXPECT_THAT(page, HasSubstr(limit));
  }
}

// The part of a page between two texts; the end is looked for after the beginning.
std::string Between(const std::string& page, const std::string& begin, const std::string& end) {
  const size_t from = page.find(begin);
  const size_t to = page.find(end, from == std::string::npos ? 0 : from + begin.size());
  return from == std::string::npos || to == std::string::npos ? "" : page.substr(from, to - from);
}

// A page with the checks "check 1" to "check 6"; `failed` fails with the window, the last without.
std::string PageWithSixChecks(int failed) {
  PageFacts facts = SomeRun();
  facts.with.findings.clear();
  facts.without.findings.clear();
  for (int i = 1; i <= 6; ++i) {
    const std::string name = "check " + std::to_string(i);
    facts.with.findings.push_back({i != failed, name, "with", ""});
    facts.without.findings.push_back({i != 6, name, "without", ""});
  }
  return ReportPage(facts);
}

TEST(ReportPage, TheFirstFourChecksAreOpenAndTheOthersFolded) {
  const std::string page = PageWithSixChecks(0);
  EXPECT_EQ(WhyNotXml(page), "");
  const std::string open = Between(page, "check by check", "<details>");
  const std::string folded = Between(page, "<details>", "</details>");
  for (const char* check : {"check 1<", "check 2<", "check 3<", "check 4<"}) {
    EXPECT_THAT(open, HasSubstr(check));
    EXPECT_THAT(folded, Not(HasSubstr(check)));
  }
  for (const char* check : {"check 5<", "check 6<"}) {
    EXPECT_THAT(folded, HasSubstr(check));
    EXPECT_THAT(open, Not(HasSubstr(check)));
  }
  EXPECT_THAT(folded, HasSubstr("2 more checks"));
  EXPECT_THAT(folded, HasSubstr("With the window: 2 OK. Without a window: 1 OK, 1 FAILED."));
}

TEST(ReportPage, ACheckThatFailsWithTheWindowIsNotFolded) {
  const std::string page = PageWithSixChecks(5);
  EXPECT_THAT(Between(page, "<details open=\"open\">", "</details>"), HasSubstr("check 5<"));
  EXPECT_THAT(page, Not(HasSubstr("<details>")));
}

TEST(ReportPage, NothingIsFoldedWhereThereAreFewChecks) {
  EXPECT_THAT(ReportPage(SomeRun()), Not(HasSubstr("<details")));
}

TEST(ReportPage, TheTitleNamesProgramVersionDateAndMachine) {
  const std::string page = ReportPage(SomeRun());
  EXPECT_THAT(page, HasSubstr("<title>oncemq 0.1.0, demo of 2026-11-25 17:21 UTC</title>"));
  EXPECT_THAT(Between(page, "<h1>oncemq", "<div"),
              HasSubstr(">oncemq 0.1.0, 2026-11-25 17:21 UTC, 2 cores, Debian 12, Linux 6.1 "
                        "x86_64<"));
}

TEST(ReportPage, SaysWhatTheSeedIsFor) {
  EXPECT_THAT(ReportPage(SomeRun()), HasSubstr("random choices from seed 7"));
}

TEST(ReportPage, HasAStyleForDarkScreensForNarrowOnesAndForPaper) {
  const std::string style = Between(ReportPage(SomeRun()), "<style>", "</style>");
  for (const char* media : {"(prefers-color-scheme: dark)", "(max-width: 40em)", "@media print"}) {
    EXPECT_THAT(style, HasSubstr(media));
  }
}

TEST(ReportPage, MarksTheMomentsThatMatter) {
  const std::string page = ReportPage(SomeRun());
  EXPECT_THAT(page, HasSubstr("SIGKILL A, 0.8 s"));
  EXPECT_THAT(page, HasSubstr("SIGKILL A, 0.9 s"));
}

TEST(ReportPage, NeedsNothingFromOutside) {
  const std::string page = ReportPage(SomeRun());
  for (const char* outside : {"src=", "href=", "@import", "url("}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
}

TEST(Chart, ASingleSuppressedMessageIsSeen) {
  const Timeline timeline{{{20'000, 1}}, {}};
  const std::string chart =
      Chart(timeline, {"t", "applied", "suppressed"}, ScaleOf(timeline, timeline));
  EXPECT_THAT(chart, HasSubstr("height=\"2\" class=\"others\""));
}

TEST(Chart, AWaitIsShadedAndLabelledWithItsReasonAndTime) {
  Timeline timeline;
  timeline.steps.resize(60);
  timeline.waits = {{10'000, 13'100, "the group waits for its members"}};
  const std::string chart =
      Chart(timeline, {"t", "applied", "suppressed"}, ScaleOf(timeline, timeline));
  EXPECT_THAT(chart, HasSubstr("<title>the group waits for its members: 3.1 s</title>"));
  EXPECT_THAT(chart, HasSubstr("class=\"shade\""));
  // In lines that fit.
  for (const char* line : {">the group<", ">waits for its<", ">members:<", ">3.1 s<"}) {
    EXPECT_THAT(chart, HasSubstr(line));
  }
}

TEST(Chart, AWaitThatIsShorterThanABarIsNotDrawn) {
  Timeline timeline;
  timeline.waits = {{0, kStepMs - 1, "the group waits"}};
  const std::string chart =
      Chart(timeline, {"t", "applied", "suppressed"}, ScaleOf(timeline, timeline));
  EXPECT_THAT(chart, Not(HasSubstr("waits")));
  EXPECT_THAT(chart, Not(HasSubstr("shade")));
}

TEST(Chart, BothRunsHaveOneScale) {
  const Timeline small{{{10, 0}}, {}};
  const Timeline large{{{300, 200}, {1, 1}, {1, 1}}, {}};
  const ChartScale scale = ScaleOf(small, large);
  EXPECT_EQ(scale.most, 600);
  EXPECT_EQ(scale.steps, 3u);
}

}  // namespace
}  // namespace oncemq::demo
