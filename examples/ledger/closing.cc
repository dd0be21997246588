// SPDX-License-Identifier: Apache-2.0
#include "closing.h"

#include <memory>
#include <optional>

#include "oncemq/base/bytes.h"
#include "oncemq/base/outage.h"
#include "oncemq/clients/postgres_client.h"
#include "oncemq/locks/election.h"
#include "oncemq/locks/postgres_locks.h"

namespace ledger {
namespace {

using oncemq::milliseconds;
using oncemq::Result;
using oncemq::Status;

constexpr milliseconds kLease{10'000};  // of a leader that was killed: the next one waits so long
constexpr milliseconds kCall{10'000};   // the closing waits for the runs that have posted

// The row of the day, if it is there.
Result<std::optional<Closing>> ClosingOf(oncemq::SqlSession& session, const CloseDay& close) {
  const auto found =
      session.Run({"SELECT closed_by, postings, turnover FROM closings "
                   "WHERE day = convert_from($1, 'UTF8')::date",
                   {std::string_view(close.day)}});
  if (!found) {
    return found.error();
  }
  if (found->rows.empty()) {
    return std::optional<Closing>();
  }
  const oncemq::SqlRow& row = found->rows.front();
  const auto number = [&](size_t column) {
    return oncemq::ParseDecimal(row[column].value_or("")).value_or(0);
  };
  return std::optional(Closing{false, row[0].value_or(""), number(1), number(2)});
}

Result<Closing> CloseOnce(oncemq::SqlClient& client, const CloseDay& close,
                          std::string_view closed_by) {
  const SqlBooking booking = BookingOf(close, closed_by);
  auto transaction = client.Begin();
  if (!transaction) {
    return transaction.error();
  }
  if (const auto locked = (*transaction)->Run(*booking.before); !locked) {
    return locked.error();
  }
  const auto booked = (*transaction)->Run(booking.book);
  if (!booked) {
    return booked.error();
  }
  if (const Status committed = (*transaction)->Commit(); !committed) {
    return committed.error();
  }
  auto closing = ClosingOf(client, close);
  if (!closing) {
    return closing.error();
  }
  Closing done = closing->value_or(Closing{});
  done.by_us = booked->affected == 1;
  return done;
}

}  // namespace

Result<Closing> CloseAsLeader(std::string_view address, const CloseDay& close,
                              std::string_view closed_by, std::stop_token stop) {
  const auto endpoint = oncemq::ParsePostgresEndpoint(address);
  if (!endpoint) {
    return endpoint.error();
  }
  const auto client = oncemq::OpenPostgres(*endpoint, {.call = kCall}, 2);
  if (!client) {
    return client.error();
  }
  auto engine = oncemq::OpenPostgresLocks(address, {.space = "ledger"});
  if (!engine) {
    return engine.error();
  }
  const auto domain =
      oncemq::LockDomain::Open(*std::move(engine), {.needs = {.processes = true}, .lease = kLease});
  if (!domain) {
    return domain.error();
  }
  Result<Closing> result(
      oncemq::Error{oncemq::Code::kUnavailable, oncemq::Effect::kNone, "stopped before it led"});
  std::stop_source done;
  const std::stop_callback pass_on(stop, [&] { done.request_stop(); });
  // An outage ends the term, and the campaign goes on; any other answer ends the campaign.
  const auto lead = [&](const oncemq::Lease&, const std::stop_token&) {
    result = CloseOnce(**client, close, closed_by);
    if (result || !oncemq::IsTransient(result.error())) {
      done.request_stop();
    }
  };
  const Status ended = oncemq::Campaign(**domain, "closing", lead, done.get_token(),
                                        {.what = "the closing of a day"});
  return ended ? result : Result<Closing>(ended.error());
}

}  // namespace ledger
