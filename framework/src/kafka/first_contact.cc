// SPDX-License-Identifier: Apache-2.0
#include "first_contact.h"

#include <utility>

#include "longest_reason.h"
#include "oncemq/base/log.h"

namespace oncemq {
namespace {

constexpr microseconds kSayEvery{10'000'000};

using TextPtr =
    std::unique_ptr<char, decltype([](char* text) { rd_kafka_mem_free(nullptr, text); })>;

}  // namespace

FirstContact::FirstContact(std::string brokers, const Clock& clock)
    : brokers_(std::move(brokers)),
      clock_(clock),
      since_(clock.Boot()),
      say_at_(since_ + kSayEvery),
      last_error_("the client has told no error yet") {}

void FirstContact::Failed(std::string_view why) {
  last_error_ = why.substr(0, kLongestReason);
}

void FirstContact::Look(rd_kafka_t* client) {
  if (reached_) {
    return;
  }
  // Known from the first answer of any broker on.
  const TextPtr cluster(rd_kafka_clusterid(client, 0));
  reached_ = cluster != nullptr;
  const BootTime now = clock_.Boot();
  if (reached_ || now < say_at_) {
    return;
  }
  say_at_ = now + kSayEvery;
  Log(LogLevel::kWarn, "kafka", "no broker was reached so far",
      {{"brokers", brokers_},
       {"last_error", last_error_},
       {"seconds", std::chrono::duration_cast<std::chrono::seconds>(now - since_).count()}});
}

std::string FirstContact::Missing() const {
  return reached_ ? std::string() : brokers_ + " (" + last_error_ + ")";
}

}  // namespace oncemq
