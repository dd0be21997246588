// SPDX-License-Identifier: Apache-2.0
#include "kafka_properties.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

namespace oncemq {
namespace {

using ::testing::HasSubstr;

std::string WhyRefused(std::string_view name, std::string_view value = "x") {
  const Status status = CheckKafkaProperty(name, value);
  return status ? "" : status.error().message;
}

TEST(KafkaProperties, ConnectionSecurityAndFetchSizesPass) {
  for (const std::string_view name :
       {"client.id", "socket.timeout.ms", "security.protocol", "sasl.password", "ssl.ca.location",
        "fetch.max.bytes", "queued.min.messages", "heartbeat.interval.ms"}) {
    EXPECT_EQ(WhyRefused(name, "1000"), "") << name;
  }
}

TEST(KafkaProperties, EachNameIsJudgedOnce) {
  std::set<std::string_view> names;
  for (const KafkaProperty& property : KafkaProperties()) {
    EXPECT_TRUE(names.insert(property.name).second) << property.name;
  }
}

TEST(KafkaProperties, EveryRefusalGivesAReason) {
  for (const KafkaProperty& property : KafkaProperties()) {
    EXPECT_EQ(property.use == PropertyUse::kRefused, !property.why.empty()) << property.name;
  }
}

TEST(KafkaProperties, WhatMovesThePositionIsRefused) {
  EXPECT_THAT(WhyRefused("enable.auto.commit", "false"), HasSubstr("only finished messages"));
  EXPECT_THAT(WhyRefused("enable.auto.offset.store"), HasSubstr("belong to the runtime"));
  EXPECT_THAT(WhyRefused("auto.offset.reset", "latest"), HasSubstr("`kafka.start`"));
}

TEST(KafkaProperties, StaticMembershipIsRefused) {
  EXPECT_THAT(WhyRefused("group.instance.id", "a"), HasSubstr("joins again without a word"));
}

TEST(KafkaProperties, WhatLoadsOrRunsCodeIsRefused) {
  for (const std::string_view name : {"plugin.library.paths", "sasl.kerberos.kinit.cmd",
                                      "ssl.engine.location", "ssl.engine.id", "ssl.providers"}) {
    EXPECT_NE(WhyRefused(name), "") << name;
  }
}

TEST(KafkaProperties, WhatHasAnOptionOfItsOwnNamesIt) {
  EXPECT_THAT(WhyRefused("group.id"), HasSubstr("`kafka.group`"));
  EXPECT_THAT(WhyRefused("bootstrap.servers"), HasSubstr("`kafka.brokers`"));
  EXPECT_THAT(WhyRefused("session.timeout.ms"), HasSubstr("`kafka.session_timeout`"));
  EXPECT_THAT(WhyRefused("partition.assignment.strategy"), HasSubstr("`kafka.assignor`"));
}

TEST(KafkaProperties, UnsignedTokensAndUncheckedBrokersAreRefused) {
  EXPECT_NE(WhyRefused("enable.sasl.oauthbearer.unsecure.jwt", "true"), "");
  EXPECT_NE(WhyRefused("enable.ssl.certificate.verification", "false"), "");
}

TEST(KafkaProperties, ReadingAbortedTransactionsIsRefused) {
  EXPECT_THAT(WhyRefused("isolation.level", "read_uncommitted"), HasSubstr("aborted transaction"));
}

TEST(KafkaProperties, AnUnjudgedOneIsRefusedWithTheNearestName) {
  EXPECT_THAT(WhyRefused("fetch.max.byte"), HasSubstr("did you mean `fetch.max.bytes`?"));
  EXPECT_THAT(WhyRefused("interceptors"), HasSubstr("not among those"));
  EXPECT_THAT(WhyRefused(""), HasSubstr("not among those"));
}

TEST(KafkaProperties, NamesAreTakenAsTheyAreWritten) {
  EXPECT_NE(WhyRefused("Client.Id"), "");
  EXPECT_NE(WhyRefused(" client.id"), "");
}

TEST(KafkaProperties, WhatEndsUpInAShellIsHarmless) {
  EXPECT_EQ(WhyRefused("sasl.kerberos.principal", "kafka/host.example@EXAMPLE.COM"), "");
  EXPECT_EQ(WhyRefused("sasl.kerberos.keytab", "/etc/kafka.keytab"), "");
  for (const std::string_view value : {"a b", "a;id", "$(id)", "`id`", "a\"b", "a'b", "-c", ""}) {
    EXPECT_NE(WhyRefused("sasl.kerberos.principal", value), "") << value;
    EXPECT_NE(WhyRefused("sasl.kerberos.keytab", value), "") << value;
  }
}

// librdkafka reads these too, as hexadecimal and octal, or up to what it does not know.
TEST(KafkaProperties, ANumberIsWrittenInPlainDigits) {
  for (const std::string_view value : {"0", "1", "3600000", "2147483647"}) {
    EXPECT_EQ(WhyRefused("heartbeat.interval.ms", value), "") << value;
  }
  for (const std::string_view value :
       {"", "0x36EE80", " 3600000", "3600000 ", "+3600000", "-1", "-0", "3600000ms", "010", "00",
        "1e6", "2147483648", "99999999999999999999"}) {
    for (const KafkaProperty& property : KafkaProperties()) {
      if (property.use == PropertyUse::kNumber) {
        EXPECT_THAT(WhyRefused(property.name, value), HasSubstr("plain digits")) << value;
      }
    }
  }
}

TEST(KafkaProperties, EveryTimeAndSizeIsANumber) {
  for (const KafkaProperty& property : KafkaProperties()) {
    const bool sounds = property.name.ends_with(".ms") || property.name.ends_with("bytes");
    if (sounds && property.use != PropertyUse::kRefused &&
        property.name != "topic.metadata.refresh.interval.ms") {
      EXPECT_EQ(property.use, PropertyUse::kNumber) << property.name;
    }
  }
  EXPECT_EQ(WhyRefused("topic.metadata.refresh.interval.ms", "-1"), "");
}

TEST(KafkaProperties, AHeartbeatThatCantBeReadIsRefusedWithTheLateOnes) {
  const auto fits = [](std::string_view value) {
    return CheckHeartbeat("heartbeat.interval.ms", value, milliseconds(2'000)).has_value();
  };
  EXPECT_TRUE(fits("2000"));
  for (const std::string_view value : {"2001", "0x36EE80", " 2001", "+2001", "2001ms", "-1", ""}) {
    EXPECT_FALSE(fits(value)) << value;
  }
  EXPECT_TRUE(CheckHeartbeat("socket.timeout.ms", "60000", milliseconds(2'000)));
}

TEST(KafkaProperties, AZeroByteIsRefused) {
  EXPECT_NE(WhyRefused("client.id", std::string_view("a\0b", 3)), "");
}

TEST(KafkaProperties, ARefusalNeverShowsTheValue) {
  for (const KafkaProperty& property : KafkaProperties()) {
    EXPECT_EQ(WhyRefused(property.name, "hun\0ter2").find("hunter2"), std::string::npos);
    EXPECT_EQ(WhyRefused(property.name, "$(hunter2)").find("hunter2"), std::string::npos);
  }
}

TEST(KafkaProperties, OnlyWhatIsNoSecretIsPrinted) {
  EXPECT_EQ(PrintableKafkaProperty("client.id", "pay"), "pay");
  EXPECT_EQ(PrintableKafkaProperty("socket.timeout.ms", "1000"), "1000");
  for (const std::string_view name : {"sasl.password", "ssl.key.pem", "ssl.key.password",
                                      "sasl.oauthbearer.client.secret", "no.such.property"}) {
    EXPECT_EQ(PrintableKafkaProperty(name, "hunter2"), "(not shown)") << name;
  }
}

TEST(KafkaProperties, WhatSoundsLikeASecretIsOne) {
  for (const KafkaProperty& property : KafkaProperties()) {
    const bool sounds = property.name.find("password") != std::string_view::npos ||
                        property.name.find("secret") != std::string_view::npos ||
                        property.name == "ssl.key.pem";
    if (sounds && property.use != PropertyUse::kRefused) {
      EXPECT_EQ(property.use, PropertyUse::kSecret) << property.name;
    }
  }
}

}  // namespace
}  // namespace oncemq
