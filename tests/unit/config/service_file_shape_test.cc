// SPDX-License-Identifier: Apache-2.0
// Service files that are refused for how they are written: places, unknown keys, shapes, YAML.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "minimal_service.h"
#include "oncemq/framework/service_file.h"

namespace oncemq {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

size_t CountOf(const std::string& text, char c) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), c));
}

TEST(ServiceFile, AnErrorSaysFileLineAndColumn) {
  EXPECT_THAT(ErrorsOf(With("  group: payments\n", "  group: payments\n  start: yesterday\n")),
              StartsWith("service.yaml:4:10: `kafka.start` must be "));
}

TEST(ServiceFile, AnUnknownKeyIsAnErrorWithTheNearestName) {
  EXPECT_EQ(ErrorsOf(With("  group: payments\n", "  group: payments\n  strat: now\n")),
            "service.yaml:4:3: unknown key `strat` in `kafka`; did you mean `start`?");
  EXPECT_EQ(ErrorsOf(kMinimalService + "ordr: {mode: key}\n"),
            "service.yaml:10:1: unknown key `ordr`; did you mean `order`?");
  EXPECT_EQ(ErrorsOf(kMinimalService + "colour: red\n"), "service.yaml:10:1: unknown key `colour`");
}

TEST(ServiceFile, AKeyInUpperCaseIsUnknown) {
  EXPECT_THAT(ErrorsOf(kMinimalService + "Log: {level: info}\n"), HasSubstr("unknown key `Log`"));
}

TEST(ServiceFile, AllErrorsAreToldInTheOrderOfTheFile) {
  const std::string errors = ErrorsOf(
      "kafka:\n"
      "  gruop: payments\n"
      "  session_timeout: 45\n"
      "window:\n"
      "  engine: disk\n"
      "  max_parked: many\n"
      "  max_parked: 5\n"
      "log: {level: loud}\n");
  std::vector<int> lines;
  for (size_t at = 0; (at = errors.find("service.yaml:", at)) != std::string::npos; at++) {
    lines.push_back(std::atoi(errors.c_str() + at + 13));
  }
  EXPECT_TRUE(std::is_sorted(lines.begin(), lines.end())) << errors;
  EXPECT_THAT(errors, HasSubstr("`topics` is missing"));
  EXPECT_THAT(errors, HasSubstr("`kafka.brokers` is missing"));
  EXPECT_THAT(errors, HasSubstr("`kafka.group` is missing"));
  EXPECT_THAT(errors, HasSubstr("2:3: unknown key `gruop` in `kafka`; did you mean `group`?"));
  EXPECT_THAT(errors, HasSubstr("3:20: `kafka.session_timeout` must be a time with its unit"));
  EXPECT_THAT(
      errors,
      HasSubstr("5:11: `window.engine` must be `memory`, `rocksdb`, `postgres`, `redis` or `none`, "
                "not `disk`"));
  EXPECT_THAT(errors, HasSubstr("6:15: `window.max_parked` must be a whole number from 1"));
  EXPECT_THAT(errors, HasSubstr("7:3: the key `max_parked` stands here twice"));
  EXPECT_THAT(errors,
              HasSubstr("8:14: `log.level` must be `debug`, `info`, `warn`, `error` or `off`"));
}

TEST(ServiceFile, AThousandErrorsAreNotAllShown) {
  std::string yaml = kMinimalService;
  for (int i = 0; i < 1000; i++) {
    yaml += "key" + std::to_string(i) + ": 1\n";
  }
  const std::string errors = ErrorsOf(yaml);
  EXPECT_EQ(CountOf(errors, '\n'), 50u);
  EXPECT_THAT(errors, HasSubstr("and 950 more"));
}

TEST(ServiceFile, WrongShapesAreErrors) {
  EXPECT_THAT(ErrorsOf(With("topics: payments\n", "topics: {a: b}\n")),
              HasSubstr("4:9: `topics` must be one value"));
  EXPECT_THAT(ErrorsOf(With("topics: payments\n", "topics: []\n")), HasSubstr("`topics` is empty"));
  EXPECT_THAT(ErrorsOf(With("topics: payments\n", "topics: [[a]]\n")), HasSubstr("one value"));
  EXPECT_THAT(ErrorsOf(With("topics: payments\n", "topics:\n")), HasSubstr("has no value"));
  EXPECT_THAT(ErrorsOf(With("topics: payments\n", "topics: \"\"\n")), HasSubstr("is empty"));
  EXPECT_THAT(ErrorsOf("kafka: localhost\n"), HasSubstr("`kafka` must be a mapping"));
  EXPECT_THAT(ErrorsOf("- a\n- b\n"), HasSubstr("the file must be a mapping"));
  EXPECT_THAT(ErrorsOf("just words\n"), HasSubstr("the file must be a mapping"));
  EXPECT_THAT(ErrorsOf(kMinimalService + "[a, b]: c\n"), HasSubstr("a key must be a plain word"));
}

TEST(ServiceFile, AFileWithoutContentOrWithTwoDocumentsIsAnError) {
  EXPECT_THAT(ErrorsOf(""), HasSubstr("empty"));
  EXPECT_NE(ErrorsOf("# nothing here\n"), "");
  EXPECT_NE(ErrorsOf("---\n"), "");
  EXPECT_THAT(ErrorsOf(kMinimalService + "---\n" + kMinimalService), HasSubstr("more than one"));
}

TEST(ServiceFile, WhatIsNoYamlIsAnErrorWithItsPlace) {
  EXPECT_THAT(ErrorsOf("kafka: [a\n"), HasSubstr("service.yaml:2:1: this is not YAML"));
  EXPECT_THAT(ErrorsOf("kafka: {a: b\n"), HasSubstr("this is not YAML"));
  EXPECT_THAT(ErrorsOf("a: *nobody\n"), HasSubstr("this is not YAML"));
  EXPECT_THAT(ErrorsOf("kafka:\n  group: g\n start: now\n"),
              HasSubstr("3:2: this is not YAML: end of map not found (this line is not indented"));
  EXPECT_THAT(ErrorsOf("kafka:\n  group:g\n  start: now\n"),
              HasSubstr("3:8: this is not YAML: illegal map value (a value cannot hold a `key: "));
  EXPECT_THAT(ErrorsOf("kafka: [a\n"), HasSubstr("(a `[` above is not closed)"));
}

TEST(ServiceFile, ATabThatIndentsIsShownWhereItStands) {
  EXPECT_EQ(ErrorsOf("kafka:\n\tgroup: g\n  \tstart: now\n"),
            "service.yaml:2:1: a tab stands here; lines are indented with spaces\n"
            "service.yaml:3:3: a tab stands here; lines are indented with spaces");
  EXPECT_EQ(ErrorsOf("kafka:\n\t\n \t# a note\n"),
            "service.yaml:2:1: a tab stands here; lines are indented with spaces\n"
            "service.yaml:3:2: a tab stands here; lines are indented with spaces");
  EXPECT_EQ(ErrorsOf(With("  group: payments\n", "  group:\tpayments\n")), "");
}

TEST(ServiceFile, AQuoteThatNobodyClosedIsShownWhereItOpens) {
  for (const std::string quote : {"\"", "'"}) {
    for (const std::string& line : {"  group: " + quote + "payments", "  group: [a, " + quote + "b",
                                    "  - " + quote + "payments"}) {
      const std::string errors = ErrorsOf("kafka:\n" + line + "\n  start: now\ntopics: p\n");
      EXPECT_EQ(errors, "service.yaml:2:" + std::to_string(line.find(quote) + 1) +
                            ": the quote that opens here is not closed on its line");
    }
  }
  EXPECT_THAT(ErrorsOf(kMinimalService + "log: {file: \"l\n"), HasSubstr("10:13: the quote that"));
}

TEST(ServiceFile, QuotesThatAreNoneOrAreClosedAreLeftAlone) {
  for (const std::string value :
       {"it's", "a \"b", "\"a: b\"", "'it''s'", "\"a\\\"b\"", "a # it's", "'a # b'",
        "\"two\n    lines\"", "|\n    it's \"\n\n    'so", ">-\n    'so"}) {
    const std::string errors =
        ErrorsOf(With("  group: payments\n",
                      "  properties: {client.id: x}\n  group: " + value + "\n  start: now\n"));
    EXPECT_EQ(errors.find("quote that opens"), std::string::npos) << value << "\n" << errors;
  }
}

TEST(ServiceFile, BetweenBracketsAColonBehindAQuoteNeedsNoSpace) {
  for (const std::string properties :
       {"{\"client.id\":\"x, 'y\"}", "{'client.id':'x, \"y'}", "{\"client.id\" :\"x, 'y\"}",
        "{\"client.id\":\"b #c\"}", "{\"client.id\":\n    \"x, 'y\"}"}) {
    // Once the bracket is closed, a comma begins no value.
    EXPECT_EQ(ErrorsOf(With("  group: payments\n",
                            "  properties: " + properties + "\n  group: pay,'ments\n")),
              "")
        << properties;
  }
  const std::string errors =
      ErrorsOf(With("  group: payments\n", "  properties: {\"client.id\":\"x}\n  group: g\n"));
  EXPECT_EQ(errors, "service.yaml:3:28: the quote that opens here is not closed on its line");
  // Outside of brackets, or behind a plain key, it belongs to the value.
  EXPECT_EQ(ErrorsOf(With("  group: payments\n", "  group: a:'b\n")), "");
  EXPECT_EQ(ErrorsOf(With("topics: payments", "topics: [a:'b]")).find("quote"), std::string::npos);
}

TEST(ServiceFile, AKeyAtTheWrongLevelIsToldWhereItBelongs) {
  EXPECT_EQ(ErrorsOf(kMinimalService + "level: guarded\n"),
            "service.yaml:10:1: unknown key `level`; it belongs under `log:` or under `window:`");
  EXPECT_EQ(ErrorsOf(kMinimalService + "  workers: 4\n"),
            "service.yaml:10:3: unknown key `workers` in `window`; it belongs under `runtime:`");
  EXPECT_EQ(ErrorsOf(kMinimalService + "  header: x\n"),
            "service.yaml:10:3: unknown key `header` in `window`; it belongs under `window.id:`");
  EXPECT_THAT(ErrorsOf("kafka: {brokers: a, group: g, topics: p}\nwindow: {engine: none}\n"),
              HasSubstr("1:31: unknown key `topics` in `kafka`; it belongs at the top level"));
  EXPECT_THAT(ErrorsOf("window.level: guarded\n"),
              HasSubstr("1:1: unknown key `window.level`; write `level:` under `window:`"));
  EXPECT_THAT(ErrorsOf("brokers: a\n"),
              HasSubstr("1:1: unknown key `brokers`; it belongs under `kafka:`"));
}

TEST(ServiceFile, AFileThatIsNoTextOrTooLargeIsAnError) {
  EXPECT_THAT(ErrorsOf(std::string("a: b\0c", 6)), HasSubstr("not a text"));
  EXPECT_THAT(ErrorsOf(std::string(300'000, ' ')), HasSubstr("not a text"));
}

TEST(ServiceFile, DeepNestingIsAnErrorAndNoCrash) {
  EXPECT_NE(ErrorsOf("kafka: " + std::string(100'000, '[')), "");
  EXPECT_NE(ErrorsOf("kafka: " + std::string(100'000, '{')), "");
}

TEST(ServiceFile, AFileThatBeginsWithACommaIsAnErrorAndEnds) {
  EXPECT_NE(ErrorsOf(",a: b\n"), "");
  EXPECT_NE(ErrorsOf("]"), "");
}

TEST(ServiceFile, AliasesAreRefusedAlsoOfAValueThatHoldsItself) {
  EXPECT_EQ(ErrorsOf("kafka: &k\n  group: *k\n"),
            "service.yaml:2:10: YAML aliases are not taken; write the value out");
}

TEST(ServiceFile, TagsAreRefused) {
  EXPECT_THAT(ErrorsOf(With("  group: payments\n", "  group: !!binary cGF5\n")),
              HasSubstr("carries a YAML tag"));
}

TEST(ServiceFile, NoTextHoldsAZeroByte) {
  const auto refused = [](const std::string& errors, const std::string& key) {
    EXPECT_THAT(errors, HasSubstr("`" + key + "` holds a zero byte"));
  };
  refused(ErrorsOf(kMinimalService + "reject: {journal: \"a\\0b\"}\n"), "reject.journal");
  refused(ErrorsOf(kMinimalService + "log: {file: \"a\\0b\"}\n"), "log.file");
  refused(ErrorsOf(With("{header: message-id}", "{header: \"a\\0b\"}")), "window.id.header");
  refused(ErrorsOf(With("topics: payments", "topics: [a, \"b\\0c\"]")), "topics");
}

TEST(ServiceFile, ThePropertyOfARefusalIsFitToBeShown) {
  for (const std::string value : {"x", "[x]"}) {
    const std::string errors =
        ErrorsOf(With("  group: payments\n",
                      "  group: payments\n  properties: {\"a\\n\\e[31m\": " + value + "}\n"));
    EXPECT_THAT(errors, HasSubstr("a\\x0a\\x1b[31m`"));
    EXPECT_EQ(CountOf(errors, '\n'), 0U) << errors;
    EXPECT_EQ(CountOf(errors, '\x1b'), 0U);
  }
}

}  // namespace
}  // namespace oncemq
