// SPDX-License-Identifier: Apache-2.0
#include "mariadb_connection.h"

#include <errmsg.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

namespace oncemq {
namespace {

// More are prepared and forgotten.
constexpr size_t kMostPrepared = 64;
// The server's own errors are below, the client's from here on.
constexpr unsigned int kFirstOfClient = 2'000;
constexpr unsigned int kFirstOfServerAgain = 3'000;
// The server ends the connection, and may have done the statement before.
constexpr std::array<unsigned int, 2> kEnded{1053, 1927};

unsigned int Seconds(microseconds time) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(time).count();
  return static_cast<unsigned int>(std::clamp<int64_t>(seconds, 1, 3'600));
}

bool OfClient(unsigned int number) {
  return number >= kFirstOfClient && number < kFirstOfServerAgain;
}

// What a column of a result is read into. The client turns numbers into text.
struct Column {
  std::vector<char> bytes;
  unsigned long length = 0;
  my_bool null = 0;
};

struct FreeResult {
  void operator()(MYSQL_RES* result) const { mysql_free_result(result); }
};
using TablePtr = std::unique_ptr<MYSQL_RES, FreeResult>;

void BindBytes(MYSQL_BIND& bind, enum_field_types type, std::string_view bytes) {
  bind.buffer_type = type;
  bind.buffer = const_cast<char*>(bytes.data() == nullptr ? "" : bytes.data());
  bind.buffer_length = bytes.size();
  bind.length_value = bytes.size();
  bind.length = &bind.length_value;
}

}  // namespace

Result<std::unique_ptr<MariadbConnection>> MariadbConnection::Open(
    const SqlEndpoint& endpoint, const SqlTimes& times, std::shared_ptr<Deadlines> deadlines,
    BootTime until) {
  ConnectionPtr connection(mysql_init(nullptr));
  if (!connection) {
    return Error{Code::kUnavailable, Effect::kNone, "no memory for a connection to MariaDB"};
  }
  const unsigned int connect = Seconds(until - BootNow());
  const unsigned int longest = Seconds(times.call);
  const unsigned int no_files = 0;
  const unsigned int tcp = MYSQL_PROTOCOL_TCP;
  mysql_options(connection.get(), MYSQL_OPT_CONNECT_TIMEOUT, &connect);
  // Behind the deadline, which ends a call: these are for the time in which there is none.
  const unsigned int late = longest + 2;
  mysql_options(connection.get(), MYSQL_OPT_READ_TIMEOUT, &late);
  mysql_options(connection.get(), MYSQL_OPT_WRITE_TIMEOUT, &late);
  mysql_options(connection.get(), MYSQL_OPT_LOCAL_INFILE, &no_files);
  mysql_options(connection.get(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
  const std::string socket(endpoint.Parameter("socket"));
  if (socket.empty()) {
    mysql_options(connection.get(), MYSQL_OPT_PROTOCOL, &tcp);
  }
  if (mysql_real_connect(connection.get(), socket.empty() ? endpoint.host.c_str() : nullptr,
                         endpoint.user.c_str(), endpoint.password.c_str(),
                         endpoint.database.c_str(), endpoint.port,
                         socket.empty() ? nullptr : socket.c_str(), 0) == nullptr) {
    const unsigned int number = mysql_errno(connection.get());
    Error error = OfClient(number)
                      ? Error{Code::kUnavailable, Effect::kNone, mysql_error(connection.get())}
                      : SqlError({mysql_sqlstate(connection.get()), static_cast<int>(number),
                                  mysql_error(connection.get())});
    error.message = "MariaDB: " + error.message;
    return error;
  }
  std::unique_ptr<MariadbConnection> made(
      new MariadbConnection(std::move(connection), std::move(deadlines)));
  // Where others read without a lock, this level takes one: swaps rely on it.
  const std::string_view isolation = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ";
  // Whoever waits for a row hears of it before the call is over, and nothing was done.
  std::string sets =
      "SET SESSION autocommit = 1, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', "
      "innodb_lock_wait_timeout = " +
      std::to_string(std::max(1U, longest - 1)) +
      ", max_statement_time = " + std::to_string(longest);
  if (times.idle > milliseconds(0)) {
    sets += ", idle_transaction_timeout = " + std::to_string(Seconds(times.idle));
  }
  for (const std::string_view text :
       {isolation, std::string_view(sets), std::string_view("SELECT @@global.read_only")}) {
    const SqlStatement statement{text};
    const auto done = made->Run({&statement, 1}, until);
    if (!done || done->refusal) {
      Error error = done ? SqlError(*done->refusal) : done.error();
      error.effect = Effect::kNone;  // nothing of the caller's was sent
      return error;
    }
    const auto& rows = done->answers.front().rows;
    if (!rows.empty() && rows[0][0] != "0") {
      return Error{Code::kUnavailable, Effect::kNone, "this MariaDB takes no writes"};
    }
  }
  return made;
}

MariadbConnection::~MariadbConnection() {
  if (broken_) {
    // Whatever is said for good-bye goes nowhere, at once.
    shutdown(mysql_get_socket(connection_.get()), SHUT_RDWR);
  }
}

bool MariadbConnection::Fresh() {
  pollfd waits{mysql_get_socket(connection_.get()), POLLIN, 0};
  return poll(&waits, 1, 0) == 0;
}

Result<SqlOutcome> MariadbConnection::Run(std::span<const SqlStatement> statements,
                                          BootTime until) {
  const Deadlines::Guard guard(*deadlines_, mysql_get_socket(connection_.get()), until);
  SqlOutcome outcome;
  const bool several = statements.size() > 1;
  SqlOutcome frame;  // of what stands around them
  Status done = several ? Plain("START TRANSACTION", frame) : Status();
  for (size_t i = 0; i < statements.size() && done && !outcome.refusal; i++) {
    done = One(statements[i], outcome);
  }
  if (several && done) {
    done = Plain(outcome.refusal ? "ROLLBACK" : "COMMIT", frame);
  }
  if (done && frame.refusal && !outcome.refusal) {
    outcome.refusal = frame.refusal;
  }
  if (!done) {
    Error error = done.error();
    if (guard.over()) {
      error.code = Code::kTimeout;
      error.message = "MariaDB did not answer in time";
    }
    return error;
  }
  if (outcome.refusal) {
    outcome.answers.clear();
  }
  return outcome;
}

Status MariadbConnection::Failed(unsigned int number, const char* state, const char* text,
                                 SqlOutcome& outcome) {
  if (OfClient(number) || std::find(kEnded.begin(), kEnded.end(), number) != kEnded.end()) {
    broken_ = true;
    return Error{Code::kUnavailable, Effect::kUnknown, std::string("MariaDB: ") + text};
  }
  outcome.refusal = SqlRefusal{state, static_cast<int>(number), text};
  return {};
}

Status MariadbConnection::One(const SqlStatement& statement, SqlOutcome& outcome) {
  const std::string text(statement.text);
  if (statement.values.empty()) {
    return Plain(text, outcome);
  }
  const auto found = Find(text, outcome);
  if (!found) {
    return found.error();
  }
  return *found == nullptr ? Status() : Prepared(*found, statement, outcome);
}

// Null: refused.
Result<MYSQL_STMT*> MariadbConnection::Find(const std::string& text, SqlOutcome& outcome) {
  if (const auto at = prepared_.find(text); at != prepared_.end()) {
    return at->second.get();
  }
  if (prepared_.size() >= kMostPrepared) {
    prepared_.erase(prepared_.begin());
  }
  StatementPtr statement(mysql_stmt_init(connection_.get()));
  if (!statement) {
    return Error{Code::kUnavailable, Effect::kNone, "no memory for a statement"};
  }
  MYSQL_STMT* raw = statement.get();
  const my_bool lengths = 1;
  mysql_stmt_attr_set(raw, STMT_ATTR_UPDATE_MAX_LENGTH, &lengths);
  if (mysql_stmt_prepare(raw, text.data(), text.size()) != 0) {
    const Status failed =
        Failed(mysql_stmt_errno(raw), mysql_stmt_sqlstate(raw), mysql_stmt_error(raw), outcome);
    if (!failed) {
      Error error = failed.error();
      error.effect = Effect::kNone;  // nothing was executed
      return error;
    }
    return nullptr;
  }
  prepared_.emplace(text, std::move(statement));
  return raw;
}

Status MariadbConnection::Plain(const std::string& text, SqlOutcome& outcome) {
  MYSQL* connection = connection_.get();
  TablePtr table;
  if (mysql_real_query(connection, text.data(), text.size()) == 0) {
    table.reset(mysql_store_result(connection));
  }
  if (mysql_errno(connection) != 0) {
    return Failed(mysql_errno(connection), mysql_sqlstate(connection), mysql_error(connection),
                  outcome);
  }
  SqlAnswer& answer = outcome.answers.emplace_back();
  if (!table) {
    answer.affected = mysql_affected_rows(connection);
    return {};
  }
  while (MYSQL_ROW row = mysql_fetch_row(table.get())) {
    const unsigned long* lengths = mysql_fetch_lengths(table.get());
    SqlRow& cells = answer.rows.emplace_back();
    for (unsigned int i = 0; i < mysql_num_fields(table.get()); i++) {
      cells.push_back(row[i] == nullptr ? SqlCell() : std::string(row[i], lengths[i]));
    }
  }
  return {};
}

Status MariadbConnection::Prepared(MYSQL_STMT* statement, const SqlStatement& values,
                                   SqlOutcome& outcome) {
  const auto failed = [&] {
    return Failed(mysql_stmt_errno(statement), mysql_stmt_sqlstate(statement),
                  mysql_stmt_error(statement), outcome);
  };
  if (mysql_stmt_param_count(statement) != values.values.size()) {
    return Error{Code::kInternal, Effect::kNone, "a statement has not as many values as places"};
  }
  std::vector<int64_t> numbers(values.values.size());
  std::vector<MYSQL_BIND> binds(values.values.size());
  for (size_t i = 0; i < binds.size(); i++) {
    if (const auto* number = std::get_if<int64_t>(&values.values[i])) {
      numbers[i] = *number;
      binds[i].buffer_type = MYSQL_TYPE_LONGLONG;
      binds[i].buffer = &numbers[i];
    } else if (const auto* flag = std::get_if<bool>(&values.values[i])) {
      numbers[i] = *flag ? 1 : 0;
      binds[i].buffer_type = MYSQL_TYPE_LONGLONG;
      binds[i].buffer = &numbers[i];
    } else if (std::holds_alternative<std::nullptr_t>(values.values[i])) {
      binds[i].buffer_type = MYSQL_TYPE_NULL;
    } else if (const auto* bytes = std::get_if<std::string_view>(&values.values[i])) {
      BindBytes(binds[i], MYSQL_TYPE_BLOB, *bytes);
    } else if (const auto* utf8 = std::get_if<SqlText>(&values.values[i])) {
      BindBytes(binds[i], MYSQL_TYPE_STRING, utf8->utf8);
    } else {
      return Error{Code::kInternal, Effect::kNone, "MariaDB has no arrays"};
    }
  }
  if (mysql_stmt_bind_param(statement, binds.data()) != 0 || mysql_stmt_execute(statement) != 0 ||
      (mysql_stmt_field_count(statement) > 0 && mysql_stmt_store_result(statement) != 0)) {
    return failed();
  }
  SqlAnswer answer;
  const unsigned int fields = mysql_stmt_field_count(statement);
  if (fields == 0) {
    answer.affected = mysql_stmt_affected_rows(statement);
    outcome.answers.push_back(std::move(answer));
    return {};
  }
  const TablePtr head(mysql_stmt_result_metadata(statement));
  std::vector<Column> columns(fields);
  std::vector<MYSQL_BIND> outs(fields);
  for (unsigned int i = 0; i < fields; i++) {
    columns[i].bytes.resize(mysql_fetch_field_direct(head.get(), i)->max_length + 1);
    outs[i].buffer_type = MYSQL_TYPE_STRING;
    outs[i].buffer = columns[i].bytes.data();
    outs[i].buffer_length = columns[i].bytes.size();
    outs[i].length = &columns[i].length;
    outs[i].is_null = &columns[i].null;
  }
  bool good = mysql_stmt_bind_result(statement, outs.data()) == 0;
  while (good && mysql_stmt_fetch(statement) == 0) {
    SqlRow& cells = answer.rows.emplace_back();
    for (const Column& column : columns) {
      const size_t length = std::min<size_t>(column.length, column.bytes.size());
      cells.push_back(column.null != 0 ? SqlCell() : std::string(column.bytes.data(), length));
    }
  }
  good = good && answer.rows.size() == mysql_stmt_num_rows(statement);
  mysql_stmt_free_result(statement);
  if (!good) {
    broken_ = true;
    return Error{Code::kCorrupt, Effect::kUnknown, "MariaDB: a result that cannot be read"};
  }
  outcome.answers.push_back(std::move(answer));
  return {};
}

}  // namespace oncemq
