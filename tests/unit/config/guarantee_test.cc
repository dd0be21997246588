// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "minimal_service.h"
#include "oncemq/framework/service_options.h"
#include "oncemq/locks/lock_engines.h"

namespace oncemq {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// One line, so that a test need not know where it was wrapped.
TEST(Guarantee, LimitsStandBeforePromises) {
  const std::string text = Explained(kMinimalService);
  EXPECT_THAT(text, StartsWith("Guarantee of group `payments`: window memory, level guarded "
                               "What does not hold"));
  EXPECT_LT(text.find("What does not hold"), text.find("What holds"));
}

TEST(Guarantee, MemorySaysFirstThatItIsForgotten) {
  const std::string text = Explained(kMinimalService);
  EXPECT_LT(text.find("forgotten when the process ends"), text.find("Level guarded"));
  EXPECT_THAT(text, HasSubstr("(rule 3)"));
}

TEST(Guarantee, CatchUpIsSaidWithItsReach) {
  EXPECT_THAT(Explained(kMinimalService + "  catch_up: 5000\n"),
              HasSubstr("reads up to 5000 offsets back"));
  EXPECT_THAT(Explained(kMinimalService + "  catch_up: 0\n"), HasSubstr("Catch-up is off"));
}

TEST(Guarantee, OneLineNeverPromisesMoreThanTheText) {
  const auto line = [](const std::string& yaml) {
    return GuaranteeLine(*ParseService(yaml, "service.yaml", NoSources()));
  };
  EXPECT_THAT(line(kMinimalService), HasSubstr("if the target stores the id"));
  EXPECT_THAT(line(With("  level: guarded\n", "  level: opaque\n")),
              AllOf(StartsWith("opaque: at least"), HasSubstr("told and counted as uncertain")));
  EXPECT_THAT(line("kafka: {brokers: k1, group: g}\ntopics: p\nwindow: {engine: none}\n"),
              StartsWith("at least once"));
}

TEST(Guarantee, GuardedIsTheUsersStatementAboutTheTarget) {
  const std::string text = Explained(kMinimalService);
  EXPECT_THAT(text, HasSubstr("stores the id in the same write as the effect"));
  EXPECT_THAT(text, HasSubstr("oncemq cannot check that"));
  EXPECT_THAT(text, HasSubstr("each id's effect happens once"));
}

TEST(Guarantee, OpaqueNeverSaysOnce) {
  const std::string text = Explained(With("  level: guarded\n", "  level: opaque\n"));
  EXPECT_THAT(text, HasSubstr("it happens at least once"));
  EXPECT_THAT(text, HasSubstr("may happen twice"));
  EXPECT_THAT(text, Not(HasSubstr("happens once")));
  EXPECT_THAT(text, HasSubstr("It counts all of it as uncertain"));
  EXPECT_THAT(text, HasSubstr("every 500ms"));
  EXPECT_THAT(text, HasSubstr("last 5s of a session"));
}

TEST(Guarantee, WithoutAWindowNothingIsSuppressed) {
  const std::string text = Explained(
      "kafka: {brokers: k1, group: payments}\ntopics: payments\nwindow: {engine: none}\n");
  EXPECT_THAT(text, HasSubstr("no copy is recognised"));
  EXPECT_THAT(text, Not(HasSubstr("happens once")));
}

TEST(Guarantee, CoordinatesDoNotRecogniseTheProducersCopies) {
  EXPECT_THAT(Explained(With("  id: {header: message-id}\n", "  id: coordinates\n")),
              HasSubstr("sent twice has two ids"));
  EXPECT_THAT(Explained(kMinimalService), Not(HasSubstr("sent twice has two ids")));
}

TEST(Guarantee, OrderIsSaidWithItsReach) {
  EXPECT_THAT(Explained(kMinimalService), HasSubstr("holds within a partition only"));
  EXPECT_THAT(Explained(kMinimalService + "order: {mode: unordered}\n"), HasSubstr("in any order"));
  EXPECT_THAT(Explained(kMinimalService + "order: {mode: partition}\n"),
              HasSubstr("Messages of one partition are handled one at a time"));
}

TEST(Guarantee, LocksAreSaidWithWhatTheirStoreCannotDo) {
  EXPECT_THAT(Explained(kMinimalService), Not(HasSubstr("lease")));
  const std::string memory = Explained(kMinimalService + "locks: {at: \"memory:\", lease: 9s}\n");
  EXPECT_THAT(memory, HasSubstr("exclude nobody outside of this process"));
  EXPECT_THAT(memory, HasSubstr("not renewed for 9s is lost"));
  EXPECT_LT(memory.find("not renewed"), memory.find("A name is given to one handler at a time"));
  if (const auto redis = CapabilitiesAt("redis://h")) {
    EXPECT_THAT(
        Explained(kMinimalService + "locks: {at: \"redis://h\"}\n"),
        HasSubstr("forgotten with a server that is lost: two may hold a name then, and only "
                  "their fences"));
  }
  const std::string elided = Explained(kMinimalService +
                                       "locks: {elided: true, names_partition_owned: true, "
                                       "effects_check_fences: true}\n");
  EXPECT_THAT(elided, HasSubstr("Two members may hold a name at a time"));
  EXPECT_THAT(elided, HasSubstr("you said `effects_check_fences`"));
}

TEST(Guarantee, SaysForHowLongAKeyCanBeHeld) {
  EXPECT_THAT(Explained(kMinimalService), HasSubstr("Retries have no end"));
  const std::string text = Explained(kMinimalService +
                                     "reject: {journal: /var/lib/refused}\n"
                                     "retry: {attempts: 8, at_end: park}\n");
  EXPECT_THAT(text, HasSubstr("A key can be held for at most 16 s, then its message is parked (8 "
                              "attempts)"));
  EXPECT_THAT(text, HasSubstr("a pause that the handler itself asks for"));
  EXPECT_THAT(text, Not(HasSubstr("Retries have no end")));
}

TEST(Guarantee, SaysWhatBecomesOfARefusedMessage) {
  EXPECT_THAT(Explained(kMinimalService), HasSubstr("stops its partition there"));
  EXPECT_THAT(Explained(kMinimalService + "reject: {journal: /var/refused}\n"),
              HasSubstr("put on record in /var/refused"));
}

TEST(Guarantee, FitsIntoATerminal) {
  const auto options = ParseService(kMinimalService, "service.yaml", NoSources());
  std::istringstream lines(ExplainGuarantee(*options) + ExplainLevels());
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(Guarantee, TheLevelsSayWhatEachOfThemTakes) {
  const std::string text = Unwrapped(ExplainLevels());
  EXPECT_THAT(text, HasSubstr("`oncemq run` can only watch it"));
  EXPECT_THAT(text, HasSubstr("a fence alone is not enough"));
}

}  // namespace
}  // namespace oncemq
