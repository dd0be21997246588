// SPDX-License-Identifier: Apache-2.0
// The window in PostgreSQL: claims and completions of ids without a partition in one round trip.
#include "postgres_window_engine.h"

namespace oncemq {
namespace {

// The judge works before the server tells its time, so all that it writes counts from then.
constexpr BootTime kThen{};

}  // namespace

Result<bool> PostgresWindow::TryFastPath(const ClaimRequest& request, ClaimAnswer& reply) {
  IdRows rows = NewRows();
  rows.Add(request.id, request.at);
  rows.Seal();
  rows.SetTime(kThen, LogTime::min());
  rows.File(0, kNoLogTime);
  rows.engine().One(request, rows.At(0), reply);
  return Make("offer_id", rows);
}

Result<bool> PostgresWindow::TryFastPath(const CompleteRequest& request, MarkerChange& reply) {
  IdRows rows = NewRows();
  rows.Add(request.id, request.at);
  rows.Seal();
  rows.SetTime(kThen, LogTime::min());
  rows.Hold(0, request.token, request.at, /*owner_epoch=*/0);
  rows.engine().One(request, rows.At(0), reply);
  return Make("finish_id", rows);
}

Result<bool> PostgresWindow::Make(std::string_view statement, IdRows& rows) {
  const IdRows::Changes changes = rows.Collect(/*open=*/true);
  if (changes.inserts.empty()) {
    return false;
  }
  const SqlStatement fast_path = Text(statement, changes.inserts.Only(scope_.number));
  const LogPosition before = LogPositionNow();
  auto outcome = guarded_([&] { return client_->Try({&fast_path, 1}); });
  if (!outcome) {
    return outcome.error();
  }
  if (outcome->refusal) {
    return IsCollision(*outcome->refusal) ? Result<bool>(false) : SqlError(*outcome->refusal);
  }
  if (outcome->answers.size() != 1) {
    return TooFewAnswers();
  }
  SqlAnswer& time = outcome->answers.front();
  const bool made = !time.rows.empty() && NumberOf(time, 0, time.rows[0].size() - 1) == 1;
  if (!time.rows.empty()) {
    time.rows[0].pop_back();
  }
  if (const Status taken = TakeTime(time, before, nullptr); !taken) {
    return taken.error();
  }
  return made;
}

}  // namespace oncemq
