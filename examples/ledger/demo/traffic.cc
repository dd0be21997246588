// SPDX-License-Identifier: Apache-2.0
#include "traffic.h"

#include <chrono>

namespace ledger::demo {
namespace {

using oncemq::Status;

constexpr int64_t kDeposit = 60'000;  // cents
constexpr int64_t kMostPaid = 4'000;  // so that some payers cannot cover it
constexpr int64_t kOneInFive = 5;
constexpr int64_t kMostLater = 200;  // settlements between one and its copy

std::string Account(int64_t number) {
  return "account-" + std::to_string(number);
}

// By the last digits of the key: all events of an account are in one partition.
int32_t HomeOf(const Event& event) {
  const std::string key = KeyOf(event);
  return static_cast<int32_t>(std::stol(key.substr(key.find('-') + 1)) % Traffic::kPartitions);
}

}  // namespace

int64_t Traffic::Draw(int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random_);
}

Status Traffic::SendNew(std::string id, const Event& event) {
  sent_.emplace_back(std::move(id), event);
  settlements_ += std::holds_alternative<Move>(event) ? 1 : 0;
  return sender_.Send(sent_.back().first, event, HomeOf(event));
}

Status Traffic::SendCopy(size_t of, int32_t shift) {
  const auto& [id, event] = sent_[of];
  copies_++;
  return sender_.Send(id, event, (HomeOf(event) + shift) % kPartitions);
}

Status Traffic::OpenAccounts() {
  for (int i = 0; i < kAccounts; i++) {
    if (const Status sent = SendNew("open-" + std::to_string(i), OpenAccount{Account(i)}); !sent) {
      return sent;
    }
    if (const Status sent = SendNew("deposit-" + std::to_string(i),
                                    Move{std::string(kOutside), Account(i), kDeposit});
        !sent) {
      return sent;
    }
  }
  return {};
}

Status Traffic::SendTransfer() {
  const int64_t payer = Draw(0, kAccounts - 1);
  const int64_t payee = (payer + Draw(1, kAccounts - 1)) % kAccounts;
  transfers_++;
  if (transfers_ % kOneInFive == 0) {
    later_.push_back({sent_.size(), transfers_ + Draw(1, kMostLater)});
  }
  return SendNew("s-" + std::to_string(transfers_),
                 Move{Account(payer), Account(payee), Draw(1, kMostPaid)});
}

Status Traffic::Flow(oncemq::BootTime now) {
  const int64_t due = kSettlementsPerSecond * (now - began_).count() / 1'000'000;
  while (transfers_ < due) {
    if (const Status sent = SendTransfer(); !sent) {
      return sent;
    }
    while (!later_.empty() && later_.front().due <= transfers_) {
      const size_t of = later_.front().of;
      later_.pop_front();
      const auto shift = static_cast<int32_t>(Draw(1, kPartitions - 1));
      if (const Status sent = SendCopy(of, shift); !sent) {
        return sent;
      }
    }
  }
  return {};
}

Status Traffic::End() {
  for (; !later_.empty(); later_.pop_front()) {
    if (const Status sent = SendCopy(later_.front().of, 1); !sent) {
      return sent;
    }
  }
  return sender_.Flush(std::chrono::seconds(10));
}

Status Traffic::RequestStatement() {
  const size_t at = sent_.size();
  Status sent = SendNew("request-" + std::to_string(at), Statement{Account(Draw(0, 9))});
  for (int32_t shift = 1; sent && shift <= 2; shift++) {
    sent = SendCopy(at, shift);
  }
  return sent;
}

}  // namespace ledger::demo
