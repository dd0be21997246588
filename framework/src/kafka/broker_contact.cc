// SPDX-License-Identifier: Apache-2.0
#include "broker_contact.h"

#include <algorithm>
#include <utility>

#include "longest_reason.h"
#include "oncemq/base/log.h"
#include "topic_configs.h"

namespace oncemq {
namespace {

constexpr microseconds kSayUnreachedEvery{10'000'000};
constexpr microseconds kSaySilentEvery{30'000'000};
constexpr microseconds kContactQueriedAfter{1'000'000};  // the first time
constexpr microseconds kContactQueriedEvery{5'000'000};
constexpr milliseconds kContactAnswerWithin{5'000};
// The answer to a member that has left since may never be read.
constexpr microseconds kContactQueryLost{15'000'000};
constexpr microseconds kSilentAfter{20'000'000};

// Errors of the client itself are below zero. One of them rests on an answer: a broker that does
// not know the question has said which ones it knows.
bool IsAnswer(rd_kafka_resp_err_t code) {
  return code >= RD_KAFKA_RESP_ERR_NO_ERROR || code == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE;
}

bool IsRefused(rd_kafka_event_t* event) {
  return std::ranges::any_of(DescribedTopics(event), [](const rd_kafka_ConfigResource_t* topic) {
    return rd_kafka_ConfigResource_error(topic) == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
  });
}

}  // namespace

BrokerContact::BrokerContact(std::string brokers, const Clock& clock)
    : brokers_(std::move(brokers)),
      clock_(clock),
      since_(clock.Boot()),
      say_at_(since_ + kSayUnreachedEvery),
      last_error_("the client has told no error yet") {}

void BrokerContact::Failed(std::string_view why) {
  last_error_ = why.substr(0, kLongestReason);
  failed_ = true;
}

void BrokerContact::AllDown() {
  if (reached_ && !answers_ && !all_down_) {
    since_ = clock_.Boot();  // until now nothing spoke against them
  }
  failed_ = true;
  all_down_ = true;
}

void BrokerContact::Check(rd_kafka_t* client) {
  if (!reached_) {
    // Known from the first answer of any broker on.
    const TextPtr cluster(rd_kafka_clusterid(client, 0));
    reached_ = cluster != nullptr;
    if (reached_) {
      NoteAnswer();
      query_at_ = since_ + kContactQueriedAfter;
    }
  }
  if (!reached_) {
    Say("no broker was reached so far", kSayUnreachedEvery);
  } else if (silent_) {
    Say("no broker answers", kSaySilentEvery);
  }
}

void BrokerContact::Say(const char* what, microseconds again_after) {
  const BootTime now = clock_.Boot();
  if (now < say_at_) {
    return;
  }
  say_at_ = now + again_after;
  Log(LogLevel::kWarn, "kafka", what,
      {{"brokers", brokers_},
       {"last_error", last_error_},
       {"seconds", std::chrono::duration_cast<std::chrono::seconds>(MissingFor()).count()}});
}

void BrokerContact::Query(rd_kafka_t* client, const std::string& topic, rd_kafka_queue_t* replies) {
  const BootTime now = clock_.Boot();
  const bool doubtful = !denied_ || failed_ || silent_;
  if (!reached_ || now < query_at_ || !doubtful) {
    return;
  }
  QueryTopicConfigs(client, {topic}, kContactAnswerWithin, replies, this);
  query_at_ = now + kContactQueryLost;
}

bool BrokerContact::IsReply(rd_kafka_event_t* event) const {
  return rd_kafka_event_opaque(event) == this;
}

void BrokerContact::Answered(rd_kafka_event_t* event) {
  Heard(rd_kafka_event_error(event), IsRefused(event));
}

void BrokerContact::Heard(rd_kafka_resp_err_t code, bool refused) {
  if (IsAnswer(code)) {
    NoteAnswer();
    answers_ = true;
    denied_ = refused;
  } else {
    NoteSilence();
  }
}

void BrokerContact::NoteAnswer() {
  if (silent_) {
    Log(LogLevel::kInfo, "kafka", "a broker answers again",
        {{"seconds", std::chrono::duration_cast<std::chrono::seconds>(MissingFor()).count()}});
  }
  since_ = clock_.Boot();
  query_at_ = since_ + kContactQueriedEvery;
  silent_ = false;
  failed_ = false;
  all_down_ = false;
}

void BrokerContact::NoteSilence() {
  const BootTime now = clock_.Boot();
  query_at_ = now + kContactQueriedEvery;
  if (!silent_ && (all_down_ || (answers_ && now - since_ >= kSilentAfter))) {
    silent_ = true;
    say_at_ = now;
  }
}

std::string BrokerContact::Missing() const {
  return reached_ && !silent_ ? std::string() : brokers_ + " (" + last_error_ + ")";
}

milliseconds BrokerContact::MissingFor() const {
  return reached_ && !silent_ ? milliseconds(0)
                              : std::chrono::duration_cast<milliseconds>(clock_.Boot() - since_);
}

}  // namespace oncemq
