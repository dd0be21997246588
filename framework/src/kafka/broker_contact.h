// SPDX-License-Identifier: Apache-2.0
// BrokerContact: whether any broker answers, and since when none does. librdkafka tries on for ever
// and tells most errors once. This says it again: every 10 s until the first broker was reached,
// and every 30 s once none answers any more.
//
// **Promise:** a broker is asked something small every 5 s, and has 5 s to answer. No broker
// answers where an ask failed and the client has said since the last answer that all of them are
// down, or no ask was answered for 20 s. The next answer ends that. Never blocks.
//
// **Limits:** the controller is asked: other brokers may answer while it is away for 20 s. Before
// the first answer silence alone proves nothing: there may be no controller. Without the right to
// describe the configuration of the topic, a broker is asked only after an error of the client,
// since brokers log each refusal.
//
// **Thread safety:** none; belongs to the poll thread.
#pragma once

#include <string>
#include <string_view>

#include "rdkafka_ptr.h"

namespace oncemq {

class BrokerContact {
 public:
  BrokerContact(std::string brokers, const Clock& clock);

  // An error that a client has told of its brokers; bytes as they came.
  void Failed(std::string_view why);
  // The client has said that all brokers are down.
  void AllDown();
  // In each round.
  void Check(rd_kafka_t* client);
  // In each round: asks about the topic when it is time. The answer is an event
  // DESCRIBECONFIGS_RESULT on `replies`.
  void Query(rd_kafka_t* client, const std::string& topic, rd_kafka_queue_t* replies);
  // Whether the event answers a question of ours.
  bool IsReply(rd_kafka_event_t* event) const;
  void Answered(rd_kafka_event_t* event);
  // How a question ended. `refused`: the right to ask it is missing.
  void Heard(rd_kafka_resp_err_t code, bool refused);

  // Where no broker answers, and the last error; empty: one does.
  std::string Missing() const;
  // Since the last answer, or the start; 0 where one answers.
  milliseconds MissingFor() const;

 private:
  void NoteAnswer();
  void NoteSilence();
  void Say(const char* what, microseconds again_after);

  const std::string brokers_;
  const Clock& clock_;
  BootTime since_;  // the last answer; until one came, the start
  BootTime say_at_;
  BootTime query_at_{};
  std::string last_error_;
  bool reached_ = false;   // ever
  bool silent_ = false;    // reached, and no broker answers any more
  bool failed_ = false;    // the client has told an error since the last answer
  bool all_down_ = false;  // it has told this one
  bool answers_ = false;   // the question was answered once
  bool denied_ = false;    // it is refused
};

}  // namespace oncemq
