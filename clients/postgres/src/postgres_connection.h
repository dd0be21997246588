// SPDX-License-Identifier: Apache-2.0
// PostgresConnection: one connection, by libpq's calls that do not block.
//
// Thread safety: one thread at a time; Hang() from any.
#pragma once

#include <libpq-fe.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/sql_client.h"
#include "oncemq/clients/sql_endpoint.h"

namespace oncemq {

class PostgresConnection final : public SqlConnection {
 public:
  // Looking up the name of a host is the system's, and bounded by it alone.
  static Result<std::unique_ptr<PostgresConnection>> Open(const SqlEndpoint& endpoint,
                                                          const SqlTimes& times, BootTime until);

  bool Fresh() override;
  // One round trip, also for several: they are sent in one pipeline, which is one transaction, and
  // nothing counts before its end has been answered.
  Result<SqlOutcome> Run(std::span<const SqlStatement> statements, BootTime until) override;

  // The payload of the next notification. None: nothing came by then, and the connection is as good
  // as before.
  Result<std::optional<std::string>> Heard(BootTime until);
  // Ends the calls that another thread is in.
  void Hang();

 private:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  using ResultPtr = std::unique_ptr<PGresult, Clear>;
  struct SentStep {
    std::string prepares = {};  // the text that this step prepares; empty: it executes
    std::vector<Oid> types = {};
  };
  struct Prepared {
    std::vector<Oid> types;
    std::string name;
  };

  explicit PostgresConnection(PGconn* connection) : connection_(connection) {}
  Status Connect(BootTime until);
  bool Send(const SqlStatement& statement, std::vector<SentStep>& sent_steps);
  Status Flush(BootTime until);
  // None: the end of what one statement answers.
  Result<ResultPtr> Next(BootTime until);
  Result<SqlOutcome> Collect(const std::vector<SentStep>& sent_steps, BootTime until);
  Error Broken(Effect effect) const;

  const std::unique_ptr<PGconn, Finish> connection_;
  std::multimap<std::string, Prepared, std::less<>> prepared_;  // by texts
};

}  // namespace oncemq
