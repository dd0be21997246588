// SPDX-License-Identifier: Apache-2.0
// MariadbConnection: one connection. Statements with values are prepared and kept.
//
// Thread safety: one thread at a time.
#pragma once

#include <mysql.h>

#include <map>
#include <memory>
#include <span>
#include <string>

#include "deadlines.h"
#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/sql_client.h"
#include "oncemq/clients/sql_endpoint.h"

namespace oncemq {

class MariadbConnection final : public SqlConnection {
 public:
  // Looking up the name of a host is the system's, and bounded by it alone.
  static Result<std::unique_ptr<MariadbConnection>> Open(const SqlEndpoint& endpoint,
                                                         const SqlTimes& times,
                                                         std::shared_ptr<Deadlines> deadlines,
                                                         BootTime until);
  ~MariadbConnection() override;

  bool Fresh() override;
  // A round trip for each, and two more for several: they are one transaction.
  Result<SqlOutcome> Run(std::span<const SqlStatement> statements, BootTime until) override;

 private:
  struct Close {
    void operator()(MYSQL* connection) const { mysql_close(connection); }
    void operator()(MYSQL_STMT* statement) const { mysql_stmt_close(statement); }
  };
  using ConnectionPtr = std::unique_ptr<MYSQL, Close>;
  using StatementPtr = std::unique_ptr<MYSQL_STMT, Close>;

  MariadbConnection(ConnectionPtr connection, std::shared_ptr<Deadlines> deadlines)
      : deadlines_(std::move(deadlines)), connection_(std::move(connection)) {}
  // Each adds an answer, or sets the refusal.
  Status One(const SqlStatement& statement, SqlOutcome& outcome);
  Status Plain(const std::string& text, SqlOutcome& outcome);
  Status Prepared(MYSQL_STMT* statement, const SqlStatement& values, SqlOutcome& outcome);
  Result<MYSQL_STMT*> Find(const std::string& text, SqlOutcome& outcome);
  // Either a refusal, or an Error of the connection.
  Status Failed(unsigned int number, const char* state, const char* text, SqlOutcome& outcome);

  const std::shared_ptr<Deadlines> deadlines_;
  const ConnectionPtr connection_;
  std::map<std::string, StatementPtr, std::less<>> prepared_;
  bool broken_ = false;
};

}  // namespace oncemq
