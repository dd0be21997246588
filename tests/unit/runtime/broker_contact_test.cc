// SPDX-License-Identifier: Apache-2.0
#include "broker_contact.h"

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

TEST(BrokerContact, EveryTenSecondsTheLogSaysThatNoBrokerWasReached) {
  LogFile log;
  ManualClock clock;
  const ClientPtr client = ClientOf(kNobody);
  BrokerContact contact(kNobody, clock);
  clock.Advance(seconds(9));
  contact.Check(client.get());
  contact.Failed("Connection refused");
  clock.Advance(seconds(1));
  contact.Check(client.get());
  contact.Check(client.get());
  clock.Advance(seconds(10));
  contact.Check(client.get());
  const std::string text = log.End();
  EXPECT_THAT(text, HasSubstr("no broker was reached so far"));
  EXPECT_THAT(text, HasSubstr("\"brokers\":\"127.0.0.1:1\",\"last_error\":\"Connection refused\""));
  EXPECT_THAT(text, HasSubstr("\"seconds\":10}"));
  EXPECT_THAT(text, HasSubstr("\"seconds\":20}"));
  EXPECT_THAT(text, Not(HasSubstr("\"seconds\":9}")));
  EXPECT_EQ(text.find("\"seconds\":10}"), text.rfind("\"seconds\":10}"));
  EXPECT_EQ(contact.Missing(), "127.0.0.1:1 (Connection refused)");
}

TEST(BrokerContact, AfterTheFirstAnswerNothingIsMissing) {
  LogFile log;
  ManualClock clock;
  MockCluster cluster(1);
  const ClientPtr client = ClientOf(cluster.address());
  BrokerContact contact(cluster.address(), clock);
  EXPECT_THAT(contact.Missing(), HasSubstr("no error"));
  EXPECT_TRUE(Eventually(seconds(20), [&] {
    contact.Check(client.get());
    return contact.Missing().empty();
  }));
  contact.Failed("later");
  clock.Advance(seconds(60));
  contact.Check(client.get());
  EXPECT_EQ(contact.Missing(), "");
  EXPECT_THAT(log.End(), Not(HasSubstr("no broker was reached")));
}

// A contact that has reached a broker, whose answers the test gives.
class BrokerSilence : public ::testing::Test {
 protected:
  void SetUp() override {
    client_ = ClientOf(cluster_.address());
    ASSERT_TRUE(Eventually(seconds(20), [&] {
      contact_.Check(client_.get());
      return contact_.Missing().empty();
    }));
    contact_.Heard(RD_KAFKA_RESP_ERR_NO_ERROR, false);
  }
  void After(seconds time) {
    clock_.Advance(time);
    contact_.Check(client_.get());
  }

  ManualClock clock_;
  MockCluster cluster_{1};
  ClientPtr client_;
  BrokerContact contact_{"k1:9092", clock_};
};

TEST_F(BrokerSilence, WithoutAnAnswerForTwentySecondsNoBrokerAnswers) {
  After(seconds(19));
  contact_.Heard(RD_KAFKA_RESP_ERR__TIMED_OUT, false);
  EXPECT_EQ(contact_.Missing(), "") << "the controller may be away";
  EXPECT_EQ(contact_.MissingFor(), seconds(0));
  After(seconds(1));
  contact_.Failed("Connection refused");
  contact_.Heard(RD_KAFKA_RESP_ERR__TIMED_OUT, false);
  EXPECT_EQ(contact_.Missing(), "k1:9092 (Connection refused)");
  EXPECT_EQ(contact_.MissingFor(), seconds(20)) << "since the last answer";
}

TEST_F(BrokerSilence, WhereAllAreDownOneQuestionWithoutAnAnswerSuffices) {
  After(seconds(4));
  contact_.AllDown();
  EXPECT_EQ(contact_.Missing(), "") << "it may be back at once";
  contact_.Heard(RD_KAFKA_RESP_ERR__TRANSPORT, false);
  EXPECT_EQ(contact_.MissingFor(), seconds(4));
}

TEST_F(BrokerSilence, AnyAnswerOfABrokerEndsIt) {
  for (const auto code :
       {RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
        RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE}) {
    contact_.AllDown();
    After(seconds(5));
    contact_.Heard(RD_KAFKA_RESP_ERR__TIMED_OUT, false);
    EXPECT_NE(contact_.Missing(), "");
    contact_.Heard(code, false);
    EXPECT_EQ(contact_.Missing(), "") << rd_kafka_err2name(code);
    EXPECT_EQ(contact_.MissingFor(), seconds(0));
  }
}

TEST_F(BrokerSilence, TheLogSaysItOnceAndThenEveryThirtySeconds) {
  LogFile log;
  contact_.Failed("Connection refused");
  contact_.AllDown();
  After(seconds(5));
  contact_.Heard(RD_KAFKA_RESP_ERR__TIMED_OUT, false);
  After(seconds(0));
  After(seconds(29));
  contact_.Heard(RD_KAFKA_RESP_ERR__TIMED_OUT, false);
  After(seconds(1));
  After(seconds(0));
  contact_.Heard(RD_KAFKA_RESP_ERR_NO_ERROR, false);
  After(seconds(60));
  const std::string text = log.End();
  EXPECT_THAT(text, HasSubstr("\"last_error\":\"Connection refused\",\"seconds\":5}"));
  size_t lines = 0;
  for (size_t at = text.find("no broker answers"); at != text.npos;
       at = text.find("no broker answers", at + 1)) {
    lines++;
  }
  EXPECT_EQ(lines, 2u) << text;
  EXPECT_THAT(text, HasSubstr("\"seconds\":35}"));
  EXPECT_THAT(text, HasSubstr("a broker answers again"));
}

// As of brokers that name no controller: it is the controller that is asked.
TEST_F(BrokerSilence, BeforeTheFirstAnswerSilenceAloneProvesNothing) {
  BrokerContact contact("k1:9092", clock_);
  contact.Check(client_.get());
  clock_.Advance(seconds(60));
  contact.Heard(RD_KAFKA_RESP_ERR__TIMED_OUT, false);
  EXPECT_EQ(contact.Missing(), "");
  contact.AllDown();
  contact.Heard(RD_KAFKA_RESP_ERR__TIMED_OUT, false);
  EXPECT_NE(contact.Missing(), "") << "died before it answered";
  EXPECT_EQ(contact.MissingFor(), seconds(0)) << "since it was told to be down";
}

TEST(BrokerContact, OfALongErrorTheBeginningIsKept) {
  ManualClock clock;
  BrokerContact contact(kNobody, clock);
  contact.Failed(std::string(100'000, 'x'));
  EXPECT_LT(contact.Missing().size(), 1'100u);
}

}  // namespace
}  // namespace oncemq::testing
