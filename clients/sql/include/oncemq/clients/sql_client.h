// SPDX-License-Identifier: Apache-2.0
// SqlClient: statements to one SQL database, from any thread, over a few connections.
//
// Promise: every call ends by its deadline, but for looking up the name of a host. An Error says
// whether something may have been done: kNone if it was not sent or was refused, kUnknown if its
// answer did not come. A connection that is in doubt is never used again.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/sql_session.h"

namespace oncemq {

struct SqlTimes {
  milliseconds connect{1'000};
  // Waiting for a connection included. PostgreSQL ends a wait for a lock after 3/4 of it, and a
  // statement after 7/8: so its refusal comes first, and the connection stays.
  milliseconds call{2'000};
  // After this time without a message in an open transaction the server ends it, and with it the
  // connection. MariaDB counts whole seconds, so it is rounded up there. 0: as the server has it.
  milliseconds idle{0};
  // A commit waits for the server's disk also where the server is set not to wait (PostgreSQL).
  bool durable = false;
};
// Of a call that has no shorter time of its own.
inline constexpr milliseconds kSqlWholeCall = milliseconds::max();

// What the server said no to: nothing came of it.
struct SqlRefusal {
  std::string state;  // SQLSTATE
  int number = 0;     // of MariaDB
  std::string text;
  size_t at = 0;          // which statement of the call, where the server runs them in a pipeline
  bool old_plan = false;  // a plan that the connection keeps does not fit the tables any more
};

// As an Error.
Error SqlError(const SqlRefusal& refusal);

// All statements of one call are one transaction: all their answers, or a refusal and none.
struct SqlOutcome {
  std::vector<SqlAnswer> answers;
  std::optional<SqlRefusal> refusal;
};

// One connection, logged in, to a server that takes writes. After an Error it is of no use.
//
// Thread safety: one thread at a time.
class SqlConnection {
 public:
  virtual ~SqlConnection() = default;
  // False: the server has hung up, or said something that nobody asked for.
  virtual bool Fresh() = 0;
  // Several are one transaction, unless they begin and end one themselves.
  virtual Result<SqlOutcome> Run(std::span<const SqlStatement> statements, BootTime until) = 0;
};

class SqlClient;

// One transaction. It is rolled back, by hanging up, if it was not committed.
//
// Thread safety: one thread at a time.
class SqlTransaction final : public SqlSession {
 public:
  ~SqlTransaction() override;
  SqlTransaction(const SqlTransaction&) = delete;
  SqlTransaction& operator=(const SqlTransaction&) = delete;

  SqlDialect dialect() const override;
  // Behind an Error nothing works but its end.
  Result<SqlAnswer> Run(const SqlStatement& statement) override;
  // Several: one round trip in PostgreSQL, one for each in MariaDB. An Error or a refusal ends the
  // transaction, and nothing of it stays.
  Result<SqlOutcome> Try(std::span<const SqlStatement> statements);
  // The same, but a refusal leaves the transaction: only an attempt that begins with ROLLBACK TO
  // SAVEPOINT works then.
  Result<SqlOutcome> Attempt(std::span<const SqlStatement> statements);
  // An Error with Effect::kUnknown: it may be committed, or not.
  Status Commit();
  // Together with last statements; gives their answers. PostgreSQL: all in one round trip, with the
  // beginning where nothing was sent yet.
  Result<SqlOutcome> CommitAfter(std::span<const SqlStatement> last);
  // Keeps the connection, which the destructor would close.
  void Rollback();

 private:
  friend class SqlClient;
  SqlTransaction(SqlClient& client, std::unique_ptr<SqlConnection> connection, milliseconds answer);
  BootTime Until() const;
  Result<SqlOutcome> Send(std::span<const SqlStatement> statements);
  Result<SqlOutcome> Try(std::span<const SqlStatement> statements, bool stays);
  void Drop();
  void EndRefused(const SqlRefusal& refusal, BootTime until);

  SqlClient& client_;
  std::unique_ptr<SqlConnection> connection_;  // none: it has ended
  const milliseconds answer_;                  // how long one is waited for
  bool begun_ = false;                         // at the server
};

// Thread safety: any thread.
class SqlClient final : public SqlSession {
 public:
  using OpenConnection = std::function<Result<std::unique_ptr<SqlConnection>>(BootTime until)>;

  // Connects once, so that a wrong endpoint or password shows at the start. A login that the server
  // refuses is kRefused; `open_connection` backs off from it (store_login.h).
  static Result<std::unique_ptr<SqlClient>> Open(SqlDialect dialect, OpenConnection open_connection,
                                                 const SqlTimes& times, size_t max_connections);
  ~SqlClient() override;
  SqlClient(const SqlClient&) = delete;
  SqlClient& operator=(const SqlClient&) = delete;

  SqlDialect dialect() const override;
  // One; a refusal is an Error here.
  Result<SqlAnswer> Run(const SqlStatement& statement) override;
  // As one transaction. It ends after `within`, or after the time of a call if that is shorter.
  Result<SqlOutcome> Try(std::span<const SqlStatement> statements,
                         milliseconds within = kSqlWholeCall);

  // Over one connection, which nobody else uses meanwhile. It must not outlive the client.
  Result<std::unique_ptr<SqlTransaction>> Begin();
  // The same, without a round trip: it begins with its first statements. Each answer is waited for
  // `within`, or for the time of a call if that is shorter.
  Result<std::unique_ptr<SqlTransaction>> BeginLater(milliseconds within);

 private:
  friend class SqlTransaction;
  struct Parts;
  explicit SqlClient(std::shared_ptr<Parts> parts);

  const std::shared_ptr<Parts> parts_;
};

}  // namespace oncemq
