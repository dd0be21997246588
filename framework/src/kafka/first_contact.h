// SPDX-License-Identifier: Apache-2.0
// FirstContact: whether any broker was ever reached. librdkafka tries on for ever and tells most
// errors once, so a service that waits for its first broker says so every ten seconds.
//
// Thread safety: none; belongs to the poll thread.
#pragma once

#include <string>
#include <string_view>

#include "rdkafka_ptr.h"

namespace oncemq {

class FirstContact {
 public:
  FirstContact(std::string brokers, const Clock& clock);

  // What a client has told of its brokers; bytes as they came.
  void Failed(std::string_view why);
  // In each round; never blocks.
  void Look(rd_kafka_t* client);
  // Where nobody was reached, and the last error; empty: somebody was.
  std::string Missing() const;

 private:
  const std::string brokers_;
  const Clock& clock_;
  const BootTime since_;
  BootTime say_at_;
  std::string last_error_;
  bool reached_ = false;
};

}  // namespace oncemq
