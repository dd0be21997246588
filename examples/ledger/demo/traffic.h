// SPDX-License-Identifier: Apache-2.0
// The events of the demo, from a seed: accounts, deposits, transfers, requests for statements. A
// fifth of the settlements comes twice, the copy a moment later in another partition.
// Failure: the sender's.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <string>

#include "books.h"
#include "event_sender.h"
#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"

namespace ledger::demo {

class Traffic {
 public:
  static constexpr int kAccounts = 100;
  static constexpr int32_t kPartitions = 6;
  static constexpr int64_t kSettlementsPerSecond = 400;

  Traffic(EventSender& sender, uint64_t seed) : sender_(sender), random_(seed) {}

  // An account is open before somebody pays to it, so this is waited for.
  oncemq::Status OpenAccounts();
  void Begin(oncemq::BootTime now) { began_ = now; }
  // Sends the events that are due.
  oncemq::Status Flow(oncemq::BootTime now);
  // The copies that are still to come.
  oncemq::Status End();
  // Three times, each in another partition.
  oncemq::Status RequestStatement();

  const Sent& sent() const { return sent_; }
  int64_t settlements() const { return settlements_; }  // deposits and transfers
  int64_t copies() const { return copies_; }

 private:
  struct Copy {
    size_t of = 0;  // in sent_
    int64_t due = 0;
  };

  int64_t Draw(int64_t least, int64_t most);
  oncemq::Status SendNew(std::string id, const Event& event);
  oncemq::Status SendCopy(size_t of, int32_t shift);
  oncemq::Status SendTransfer();

  EventSender& sender_;
  std::mt19937_64 random_;
  Sent sent_;
  std::deque<Copy> later_;
  oncemq::BootTime began_{};
  int64_t transfers_ = 0;
  int64_t settlements_ = 0;
  int64_t copies_ = 0;
};

}  // namespace ledger::demo
