// SPDX-License-Identifier: Apache-2.0
// A connection to PostgreSQL. It is made when a statement first needs it, and again after it was
// lost. PGHOST, PGPORT, PGUSER, PGPASSWORD and PGDATABASE say where.
//
// Thread safety: one thread.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

class Connection {
 public:
  enum class Answer {
    kDone,
    kRefused,  // for the values in it: it would be refused again, and nothing was changed
    kUnknown,  // no answer came, or the server takes nothing now: it may have been done
  };

  // The statement has $1, $2, ... for the values, which are texts of any bytes.
  Answer Run(const char* statement, const std::vector<std::string_view>& values);
  // Of the last answer that was not kDone.
  const std::string& why() const { return why_; }

 private:
  struct End {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  bool Ready();

  std::unique_ptr<PGconn, End> connection_;
  std::string why_;
};
