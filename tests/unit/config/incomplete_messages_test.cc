// SPDX-License-Identifier: Apache-2.0
// What a service file says about messages without an id or a key, and what is said back.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "minimal_service.h"
#include "oncemq/framework/service_options.h"

namespace oncemq {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kByCoordinates = With("  id: {header: message-id}\n", "  id: coordinates\n");

TEST(IncompleteMessages, EachPolicyHasItsName) {
  const auto missing_id = [](const std::string& name) {
    return Parsed(kMinimalService + "  missing_id: " + name + "\n").runtime.missing_id;
  };
  EXPECT_EQ(missing_id("refuse"), MissingId::kRefuse);
  EXPECT_EQ(missing_id("pass"), MissingId::kPass);
  EXPECT_EQ(missing_id("coordinates"), MissingId::kCoordinates);
  const auto null_key = [](const std::string& name) {
    return Parsed(kMinimalService + "order: {null_key: " + name + "}\n").runtime.null_key;
  };
  EXPECT_EQ(null_key("unordered"), NullKey::kUnordered);
  EXPECT_EQ(null_key("refuse"), NullKey::kRefuse);
  EXPECT_EQ(null_key("one_lane"), NullKey::kOneLane);
}

TEST(IncompleteMessages, AnotherNameIsAnErrorThatTellsTheChoices) {
  EXPECT_THAT(ErrorsOf(kMinimalService + "  missing_id: skip\n"),
              AllOf(HasSubstr("window.missing_id"), HasSubstr("`coordinates`")));
  EXPECT_THAT(ErrorsOf(kMinimalService + "order: {null_key: lane}\n"),
              AllOf(HasSubstr("order.null_key"), HasSubstr("`one_lane`")));
}

TEST(IncompleteMessages, APolicyThatNothingAsksForIsAnError) {
  EXPECT_THAT(ErrorsOf("kafka: {brokers: k1, group: g}\ntopics: p\n"
                       "window: {engine: none, missing_id: pass}\n"),
              HasSubstr("`window.missing_id` has no meaning here"));
  EXPECT_THAT(ErrorsOf(kByCoordinates + "  missing_id: pass\n"),
              HasSubstr("every message has its coordinates"));
  EXPECT_THAT(ErrorsOf(kMinimalService + "order: {mode: partition, null_key: one_lane}\n"),
              HasSubstr("`order.mode` is not `key`"));
}

TEST(IncompleteMessages, TheDescriptionGivesThePoliciesAgain) {
  const std::string yaml =
      kMinimalService + "  missing_id: pass\norder: {mode: key, null_key: one_lane}\n";
  const ServiceOptions again = Parsed(Describe(Parsed(yaml)));
  EXPECT_EQ(again.runtime.missing_id, MissingId::kPass);
  EXPECT_EQ(again.runtime.null_key, NullKey::kOneLane);
  const ServiceOptions other =
      Parsed(Describe(Parsed(kMinimalService + "  missing_id: coordinates\n"
                                               "order: {null_key: refuse}\n")));
  EXPECT_EQ(other.runtime.missing_id, MissingId::kCoordinates);
  EXPECT_EQ(other.runtime.null_key, NullKey::kRefuse);
}

TEST(IncompleteMessages, TheGuaranteeSaysWhatAMissingIdCosts) {
  const std::string pass = kMinimalService + "  missing_id: pass\n";
  EXPECT_THAT(Explained(pass), HasSubstr("at least once, and counted as unprotected"));
  EXPECT_THAT(Explained(pass), HasSubstr("refuses, or whose id is too long, stops"));
  EXPECT_THAT(GuaranteeLine(Parsed(pass)), HasSubstr("; a message without an id: at least once"));
  EXPECT_THAT(Explained(kMinimalService + "  missing_id: coordinates\n"),
              HasSubstr("stand in for it: one that its producer sent twice is handled twice"));
  EXPECT_THAT(Explained(kMinimalService), HasSubstr("refuses, or that has no usable id, stops"));
  EXPECT_THAT(Explained(kMinimalService), Not(HasSubstr("unprotected")));
  EXPECT_THAT(GuaranteeLine(Parsed(kMinimalService)), Not(HasSubstr("without an id")));
}

TEST(IncompleteMessages, TheGuaranteeSaysWhatOrderTheyHaveWithoutAKey) {
  EXPECT_THAT(Explained(kMinimalService), HasSubstr("Messages without a key have no order."));
  EXPECT_THAT(Explained(kMinimalService + "order: {null_key: one_lane}\n"),
              HasSubstr("Messages without a key are in order among themselves."));
  EXPECT_THAT(
      Explained(kMinimalService + "order: {null_key: refuse}\n"),
      AllOf(HasSubstr("Messages without a key are refused."), HasSubstr("or that has no key, ")));
}

}  // namespace
}  // namespace oncemq
