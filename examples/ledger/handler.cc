// SPDX-License-Identifier: Apache-2.0
#include "handler.h"

#include "oncemq/dedup/effects.h"
#include "oncemq/dedup/sql_effects.h"
#include "postings.h"
#include "row_ledger.h"

namespace ledger {
namespace {

using oncemq::Status;

Status Book(oncemq::SqlEffects& sql, const SqlBooking& booking) {
  if (booking.before) {
    if (const Status added = sql.Add(*booking.before); !added) {
      return added;
    }
  }
  const auto answer = sql.Run(booking.book);
  if (!answer) {
    return answer.error();
  }
  if (answer->affected < booking.rows) {
    return Refusal(std::string(booking.otherwise));
  }
  return {};
}

}  // namespace

oncemq::Outcome OnEvent(const oncemq::Message& message, oncemq::Context& context) {
  const auto event = Decode(message.value().value_or(""));
  if (!event) {
    return oncemq::Reject{event.error().message};
  }
  Status booked;
  if (context.sql() != nullptr) {
    booked = Book(*context.sql(), BookingOf(*event, context.id(), message.timestamp_ms()));
  } else if (context.effects() != nullptr) {
    booked = BookRows(*context.effects(), *event, context.id());
  } else {
    return oncemq::Retry{.why = "the ledger needs a window of the level atomic"};
  }
  if (booked) {
    return oncemq::Done{};
  }
  if (booked.error().code == oncemq::Code::kInvalid) {
    return oncemq::Reject{booked.error().message};
  }
  return oncemq::Retry{.why = booked.error().message};
}

}  // namespace ledger
