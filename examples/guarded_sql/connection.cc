// SPDX-License-Identifier: Apache-2.0
#include "connection.h"

namespace {

// Each wait has an end: a server that says nothing must not hold a worker for ever.
constexpr char kTimes[] =
    "connect_timeout=5 tcp_user_timeout=10000 options='-c statement_timeout=5s'";
constexpr Oid kText = 25;
constexpr int kAsBytes = 1;  // with its length: a NUL in a value is refused, and cuts nothing off

struct Clear {
  void operator()(PGresult* result) const { PQclear(result); }
};

// Of SQLSTATE: 22 is data that the types do not take, 23 a constraint of the table.
bool LiesInTheValues(const PGresult* result) {
  const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string_view kind = std::string_view(state != nullptr ? state : "").substr(0, 2);
  return kind == "22" || kind == "23";
}

}  // namespace

bool Connection::Ready() {
  if (connection_ == nullptr || PQstatus(connection_.get()) != CONNECTION_OK) {
    connection_.reset(PQconnectdb(kTimes));
  }
  return PQstatus(connection_.get()) == CONNECTION_OK;
}

Connection::Answer Connection::Run(const char* statement,
                                   const std::vector<std::string_view>& values) {
  if (!Ready()) {
    why_ = PQerrorMessage(connection_.get());
    return Answer::kUnknown;
  }
  const std::vector<Oid> types(values.size(), kText);
  const std::vector<int> formats(values.size(), kAsBytes);
  std::vector<const char*> bytes;
  std::vector<int> lengths;
  for (const std::string_view value : values) {
    bytes.push_back(value.empty() ? "" : value.data());  // a null pointer would be NULL
    lengths.push_back(static_cast<int>(value.size()));
  }
  const std::unique_ptr<PGresult, Clear> result(
      PQexecParams(connection_.get(), statement, static_cast<int>(values.size()), types.data(),
                   bytes.data(), lengths.data(), formats.data(), 0));
  if (PQresultStatus(result.get()) == PGRES_COMMAND_OK) {
    return Answer::kDone;
  }
  if (LiesInTheValues(result.get())) {
    why_ = PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY);
    return Answer::kRefused;
  }
  why_ = PQerrorMessage(connection_.get());
  return Answer::kUnknown;
}
