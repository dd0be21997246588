// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/sql_client.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <utility>

#include "oncemq/base/connection_pool.h"

namespace oncemq {
namespace {

// What MariaDB tells apart by its number only.
enum : int {
  kChangedSince = 1020,  // the row, with innodb_snapshot_isolation
  kTooManyConnections = 1040,
  kWrongDatabase = 1044,
  kWrongPassword = 1045,
  kGoesDown = 1053,
  kNoDatabase = 1049,
  kDiskFull = 1021,
  kMayNotOnTable = 1142,
  kNoTable = 1146,
  kLockWait = 1205,
  kUserBlocked = 4150,  // after too many wrong passwords
  kUserLocked = 4151,
  kReadOnlyTable = 1036,
  kReadOnlyOption = 1290,
  kReadOnlyTransaction = 1792,
  kReadOnlyMode = 1836,
  kTooLong = 1969,
};

template <size_t n>
bool IsOneOf(int number, const std::array<int, n>& numbers) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

bool Begins(const SqlRefusal& refusal, std::string_view state) {
  return refusal.state.starts_with(state);
}

// A server that takes no writes now, or is going down: the next connection may find a better one.
bool SaysLater(const SqlRefusal& refusal) {
  return Begins(refusal, "25006") || Begins(refusal, "57P") || Begins(refusal, "08") ||
         IsOneOf(refusal.number, std::array{+kGoesDown, +kReadOnlyTable, +kReadOnlyOption,
                                            +kReadOnlyTransaction, +kReadOnlyMode});
}

// The connection keeps a plan that fits the tables no more.
bool HasOldPlan(const SqlRefusal& refusal) {
  return refusal.state == "0A000" || refusal.state == "26000";
}

Error Ended() {
  return {Code::kInvalid, Effect::kNone, "the transaction has ended"};
}

}  // namespace

Error SqlError(const SqlRefusal& refusal) {
  Error error{Code::kInternal, Effect::kNone, "the database refuses: " + refusal.text};
  if (SaysLater(refusal) || Begins(refusal, "40") || Begins(refusal, "55P03") ||
      Begins(refusal, "53300") ||
      IsOneOf(refusal.number, std::array{+kChangedSince, +kTooManyConnections, +kLockWait})) {
    error.code = Code::kUnavailable;
  } else if (Begins(refusal, "57014") || refusal.number == kTooLong) {
    error.code = Code::kTimeout;
  } else if (Begins(refusal, "53") || refusal.number == kDiskFull) {
    error.code = Code::kFull;
  } else if (Begins(refusal, "28") ||
             IsOneOf(refusal.number, std::array{+kWrongPassword, +kUserBlocked, +kUserLocked})) {
    error.code = Code::kRefused;
  } else if (Begins(refusal, "3D") || Begins(refusal, "42501") || Begins(refusal, "42P01") ||
             IsOneOf(refusal.number,
                     std::array{+kWrongDatabase, +kNoDatabase, +kMayNotOnTable, +kNoTable})) {
    error.code = Code::kInvalid;
  }
  return error;
}

struct SqlClient::Parts {
  const SqlDialect dialect;
  const OpenConnection open_connection;
  const SqlTimes times;
  ConnectionPool<SqlConnection> pool;

  milliseconds Within(milliseconds within) const { return std::min(within, times.call); }
  Result<std::unique_ptr<SqlConnection>> Borrow(BootTime until) {
    return pool.Borrow(
        until, [](SqlConnection& connection) { return connection.Fresh(); },
        [&] { return open_connection(std::min<BootTime>(until, BootNow() + times.connect)); });
  }
  Result<SqlOutcome> Run(std::unique_ptr<SqlConnection> connection,
                         std::span<const SqlStatement> statements, BootTime until) {
    auto outcome = connection->Run(statements, until);
    const bool good = outcome && !(outcome->refusal &&
                                   (SaysLater(*outcome->refusal) || HasOldPlan(*outcome->refusal)));
    if (good) {
      pool.GiveBack(std::move(connection));
    } else {
      connection.reset();
      pool.Dropped();
      Doubt(outcome);
    }
    return outcome;
  }
  // After a call without an answer the idle connections may be dead too.
  void Doubt(const Result<SqlOutcome>& outcome) {
    if (!outcome && outcome.error().code == Code::kTimeout) {
      pool.DropUnusedSince(BootNow() - times.call);
    }
  }
};

SqlClient::SqlClient(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}

SqlClient::~SqlClient() = default;

SqlDialect SqlClient::dialect() const {
  return parts_->dialect;
}

Result<std::unique_ptr<SqlClient>> SqlClient::Open(SqlDialect dialect,
                                                   OpenConnection open_connection,
                                                   const SqlTimes& times, size_t max_connections) {
  std::shared_ptr<Parts> parts(new Parts{dialect, std::move(open_connection), times,
                                         ConnectionPool<SqlConnection>(max_connections)});
  auto first = parts->Borrow(BootNow() + times.call);
  if (!first) {
    return first.error();
  }
  parts->pool.GiveBack(*std::move(first));
  return std::unique_ptr<SqlClient>(new SqlClient(std::move(parts)));
}

Result<SqlOutcome> SqlClient::Try(std::span<const SqlStatement> statements, milliseconds within) {
  const BootTime until = BootNow() + parts_->Within(within);
  auto connection = parts_->Borrow(until);
  if (!connection) {
    return connection.error();
  }
  if (BootNow() >= until) {
    parts_->pool.GiveBack(*std::move(connection));
    return Error{Code::kTimeout, Effect::kNone, "connecting to the database took all the time"};
  }
  return parts_->Run(*std::move(connection), statements, until);
}

Result<SqlAnswer> SqlClient::Run(const SqlStatement& statement) {
  auto outcome = Try({&statement, 1});
  if (!outcome) {
    return outcome.error();
  }
  if (outcome->refusal) {
    return SqlError(*outcome->refusal);
  }
  return std::move(outcome->answers.front());
}

Result<std::unique_ptr<SqlTransaction>> SqlClient::BeginLater(milliseconds within) {
  auto connection = parts_->Borrow(BootNow() + parts_->Within(within));
  if (!connection) {
    return connection.error();
  }
  return std::unique_ptr<SqlTransaction>(
      new SqlTransaction(*this, *std::move(connection), parts_->Within(within)));
}

Result<std::unique_ptr<SqlTransaction>> SqlClient::Begin() {
  auto transaction = BeginLater(kSqlWholeCall);
  if (!transaction) {
    return transaction;
  }
  const auto began = (*transaction)->Try({});
  if (!began || began->refusal) {
    return began ? SqlError(*began->refusal) : began.error();
  }
  return transaction;
}

SqlTransaction::SqlTransaction(SqlClient& client, std::unique_ptr<SqlConnection> connection,
                               milliseconds answer)
    : client_(client), connection_(std::move(connection)), answer_(answer) {}

SqlTransaction::~SqlTransaction() {
  if (connection_) {
    Drop();
  }
}

SqlDialect SqlTransaction::dialect() const {
  return client_.dialect();
}

BootTime SqlTransaction::Until() const {
  return BootNow() + answer_;
}

// The connection is kept, unless the refusal speaks against it.
void SqlTransaction::EndRefused(const SqlRefusal& refusal, BootTime until) {
  if (!begun_ || SaysLater(refusal) || HasOldPlan(refusal)) {
    Drop();
    return;
  }
  const SqlStatement rollback{"ROLLBACK"};
  static_cast<void>(client_.parts_->Run(std::move(connection_), {&rollback, 1}, until));
  connection_.reset();
}

// The server rolls back with the end of the connection.
void SqlTransaction::Drop() {
  connection_.reset();
  client_.parts_->pool.Dropped();
}

// One pipeline where the server has them: all answers, or a refusal and none.
Result<SqlOutcome> SqlTransaction::Send(std::span<const SqlStatement> statements) {
  const size_t together = dialect() == SqlDialect::kPostgres ? statements.size() : 1;
  SqlOutcome all;
  for (size_t at = 0; at < statements.size(); at += together) {
    auto outcome = connection_->Run(statements.subspan(at, together), Until());
    if (!outcome || outcome->refusal) {
      return outcome;
    }
    std::move(outcome->answers.begin(), outcome->answers.end(), std::back_inserter(all.answers));
  }
  return all;
}

Result<SqlOutcome> SqlTransaction::Try(std::span<const SqlStatement> statements) {
  return Try(statements, false);
}

Result<SqlOutcome> SqlTransaction::Attempt(std::span<const SqlStatement> statements) {
  return Try(statements, true);
}

// `stays`: after a refusal, too.
Result<SqlOutcome> SqlTransaction::Try(std::span<const SqlStatement> statements, bool stays) {
  if (!connection_) {
    return Ended();
  }
  std::vector<SqlStatement> all;
  const bool begins = !begun_;
  if (begins) {
    all.push_back({"START TRANSACTION"});
  }
  all.insert(all.end(), statements.begin(), statements.end());
  const BootTime until = Until();
  auto outcome = Send(all);
  if (!outcome) {
    Drop();
    client_.parts_->Doubt(outcome);
    outcome.error().effect = Effect::kNone;  // it was not committed
    return outcome;
  }
  begun_ = begun_ || !outcome->refusal || outcome->refusal->at > 0;
  if (outcome->refusal) {
    outcome->refusal->at -= begins && begun_ ? 1 : 0;
    if (!stays || !begun_) {
      EndRefused(*outcome->refusal, until);
    }
  } else if (begins) {
    outcome->answers.erase(outcome->answers.begin());
  }
  return outcome;
}

Result<SqlAnswer> SqlTransaction::Run(const SqlStatement& statement) {
  auto outcome = Try({&statement, 1});
  if (!outcome || outcome->refusal) {
    return outcome ? SqlError(*outcome->refusal) : outcome.error();
  }
  return std::move(outcome->answers.front());
}

Status SqlTransaction::Commit() {
  if (!connection_) {
    return Ended();
  }
  const SqlStatement commit{"COMMIT"};
  const auto outcome = client_.parts_->Run(std::move(connection_), {&commit, 1}, Until());
  connection_.reset();
  if (!outcome) {
    return outcome.error();
  }
  if (outcome->refusal) {
    return SqlError(*outcome->refusal);
  }
  return {};
}

Result<SqlOutcome> SqlTransaction::CommitAfter(std::span<const SqlStatement> last) {
  if (dialect() != SqlDialect::kPostgres) {
    auto outcome = Try(last);
    if (!outcome || outcome->refusal) {
      return outcome;
    }
    const Status done = Commit();
    return done ? std::move(outcome) : Result<SqlOutcome>(done.error());
  }
  if (!connection_) {
    return Ended();
  }
  std::vector<SqlStatement> all;
  const size_t begins = begun_ ? 0 : 1;
  if (begins > 0) {
    all.push_back({"START TRANSACTION"});
  }
  all.insert(all.end(), last.begin(), last.end());
  all.push_back({"COMMIT"});
  const BootTime until = Until();
  auto outcome = connection_->Run(all, until);
  if (!outcome) {
    Drop();
    client_.parts_->Doubt(outcome);
    return outcome;
  }
  if (outcome->refusal) {
    SqlRefusal& refusal = *outcome->refusal;
    begun_ = begun_ || refusal.at > 0;
    refusal.at -= begun_ ? begins : 0;
    EndRefused(refusal, until);
    return outcome;
  }
  outcome->answers.pop_back();
  outcome->answers.erase(outcome->answers.begin(),
                         outcome->answers.begin() + static_cast<std::ptrdiff_t>(begins));
  client_.parts_->pool.GiveBack(std::move(connection_));
  return outcome;
}

void SqlTransaction::Rollback() {
  if (!connection_) {
    return;
  }
  const SqlStatement rollback{"ROLLBACK"};
  static_cast<void>(client_.parts_->Run(std::move(connection_), {&rollback, 1}, Until()));
  connection_.reset();
}

}  // namespace oncemq
