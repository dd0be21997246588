// SPDX-License-Identifier: Apache-2.0
#include "first_contact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client_config.h"
#include "support/eventually.h"
#include "support/log_file.h"
#include "support/mock_cluster.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

ClientPtr ClientOf(const std::string& brokers) {
  RuntimeOptions options;
  options.kafka = {.brokers = brokers, .group = "group", .topics = {"topic"}};
  auto client = OpenClient(options, ClientFacts{});
  EXPECT_TRUE(client) << ToString(client.error());
  return *std::move(client);
}

constexpr char kNobody[] = "127.0.0.1:1";

TEST(FirstContact, EveryTenSecondsTheLogSaysThatNoBrokerWasReached) {
  LogFile log;
  ManualClock clock;
  const ClientPtr client = ClientOf(kNobody);
  FirstContact contact(kNobody, clock);
  clock.Advance(seconds(9));
  contact.Look(client.get());
  contact.Failed("Connection refused");
  clock.Advance(seconds(1));
  contact.Look(client.get());
  contact.Look(client.get());
  clock.Advance(seconds(10));
  contact.Look(client.get());
  const std::string text = log.End();
  EXPECT_THAT(text, HasSubstr("no broker was reached so far"));
  EXPECT_THAT(text, HasSubstr("\"brokers\":\"127.0.0.1:1\",\"last_error\":\"Connection refused\""));
  EXPECT_THAT(text, HasSubstr("\"seconds\":10}"));
  EXPECT_THAT(text, HasSubstr("\"seconds\":20}"));
  EXPECT_THAT(text, Not(HasSubstr("\"seconds\":9}")));
  EXPECT_EQ(text.find("\"seconds\":10}"), text.rfind("\"seconds\":10}"));
  EXPECT_EQ(contact.Missing(), "127.0.0.1:1 (Connection refused)");
}

TEST(FirstContact, AfterTheFirstAnswerNothingIsMissing) {
  LogFile log;
  ManualClock clock;
  MockCluster cluster(1);
  const ClientPtr client = ClientOf(cluster.address());
  FirstContact contact(cluster.address(), clock);
  EXPECT_THAT(contact.Missing(), HasSubstr("no error"));
  EXPECT_TRUE(Eventually(seconds(20), [&] {
    contact.Look(client.get());
    return contact.Missing().empty();
  }));
  contact.Failed("later");
  clock.Advance(seconds(60));
  contact.Look(client.get());
  EXPECT_EQ(contact.Missing(), "");
  EXPECT_THAT(log.End(), Not(HasSubstr("no broker was reached")));
}

TEST(FirstContact, OfALongErrorTheBeginningIsKept) {
  ManualClock clock;
  FirstContact contact(kNobody, clock);
  contact.Failed(std::string(100'000, 'x'));
  EXPECT_LT(contact.Missing().size(), 1'100u);
}

}  // namespace
}  // namespace oncemq::testing
