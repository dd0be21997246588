// SPDX-License-Identifier: Apache-2.0
// Sends events to a topic: the key is the event's, the header "message-id" is the id.
// Failure: an event that the broker refused is an error of the next call.
//
// Thread safety: one thread.
#pragma once

#include <memory>
#include <string>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "postings.h"

namespace ledger::demo {

class EventSender {
 public:
  static oncemq::Result<std::unique_ptr<EventSender>> Connect(const std::string& brokers,
                                                              const std::string& topic);
  virtual ~EventSender() = default;

  static constexpr int32_t kByKey = -1;
  virtual oncemq::Status Send(const std::string& id, const Event& event, int32_t partition) = 0;
  virtual oncemq::Status Flush(oncemq::milliseconds longest) = 0;
};

}  // namespace ledger::demo
