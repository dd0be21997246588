// SPDX-License-Identifier: Apache-2.0
#include "postgres_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "oncemq/base/bytes.h"
#include "oncemq/base/hash.h"
#include "oncemq/base/wait_ready.h"
#include "oncemq/clients/postgres_client.h"

namespace oncemq {
namespace {

constexpr Oid kTypeOfItsUse = 0;  // the server says which
constexpr Oid kBool = 16;
constexpr Oid kInt8 = 20;
constexpr Oid kBytea = 17;
constexpr Oid kInt8s = 1016;
constexpr Oid kByteas = 1001;
// More are sent whole each time.
constexpr size_t kMostPrepared = 64;

// One line, without what libpq adds for a terminal.
std::string OneLine(const char* text) {
  std::string line(text == nullptr ? "" : text);
  std::erase(line, '\t');
  std::replace(line.begin(), line.end(), '\n', ' ');
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// One text is prepared for each list of types that it is sent with.
std::string NameOf(std::string text, const std::vector<Oid>& types) {
  for (const Oid type : types) {
    text.append(" ").append(std::to_string(type));
  }
  return "oncemq_" + Hex(StableHash(text));
}

// The function of the server tells it apart from a feature that is missing; the text may be
// translated.
bool IsOldPlan(std::string_view state, std::string_view function) {
  return state == "26000" || (state == "0A000" && function == "RevalidateCachedQuery");
}

SqlCell CellOf(const PGresult* result, int row, int column) {
  if (PQgetisnull(result, row, column) != 0) {
    return std::nullopt;
  }
  const char* value = PQgetvalue(result, row, column);
  if (PQftype(result, column) != kBytea) {
    return std::string(value, static_cast<size_t>(PQgetlength(result, row, column)));
  }
  size_t length = 0;
  const std::unique_ptr<unsigned char, void (*)(void*)> plain(
      PQunescapeBytea(reinterpret_cast<const unsigned char*>(value), &length), PQfreemem);
  return std::string(reinterpret_cast<const char*>(plain.get()), plain ? length : 0);
}

SqlAnswer AnswerOf(PGresult* result) {
  SqlAnswer answer;
  answer.affected = static_cast<uint64_t>(ParseDecimal(PQcmdTuples(result)).value_or(0));
  for (int row = 0; row < PQntuples(result); row++) {
    SqlRow& cells = answer.rows.emplace_back();
    for (int column = 0; column < PQnfields(result); column++) {
      cells.push_back(CellOf(result, row, column));
    }
  }
  return answer;
}

std::string FieldOf(const PGresult* result, int field) {
  return OneLine(PQresultErrorField(result, field));
}

// What the server said to a connection that failed: "FATAL:  28P01: ...". Such a connection has no
// result with a SQLSTATE, but PQERRORS_VERBOSE puts it into the text. Empty: the server said
// nothing.
std::string_view StateOfFailure(std::string_view message) {
  constexpr std::string_view kBefore = ":  ";
  constexpr size_t kLength = 5;
  const auto of_state = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); };
  for (size_t end = message.rfind(kBefore); end != std::string_view::npos;
       end = end == 0 ? end - 1 : message.rfind(kBefore, end - 1)) {
    const std::string_view rest = message.substr(end + kBefore.size());
    const std::string_view state = rest.substr(0, kLength);
    if (std::all_of(state.begin(), state.end(), of_state) &&
        rest.substr(state.size()).starts_with(": ")) {
      return state;
    }
  }
  return {};
}

void AppendBigEndian(std::string& out, uint64_t value, size_t bytes) {
  std::array<char, 8> text;
  for (size_t i = 0; i < bytes; i++) {
    text[i] = static_cast<char>(value >> 8 * (bytes - 1 - i));
  }
  out.append(text.data(), bytes);
}

// An array as PostgreSQL sends and takes it in binary: one dimension, no NULL.
template <class Append>
std::string ArrayOf(size_t size, Oid element, size_t bytes, Append append) {
  std::string out;
  out.reserve(20 + 4 * size + bytes);
  AppendBigEndian(out, size == 0 ? 0 : 1, 4);
  AppendBigEndian(out, 0, 4);
  AppendBigEndian(out, element, 4);
  if (size > 0) {
    AppendBigEndian(out, size, 4);
    AppendBigEndian(out, 1, 4);  // the index of the first element
  }
  for (size_t i = 0; i < size; i++) {
    append(out, i);
  }
  return out;
}

std::string ArrayOf(SqlNumbers numbers) {
  return ArrayOf(numbers.size(), kInt8, 8 * numbers.size(), [&](std::string& out, size_t i) {
    AppendBigEndian(out, 8, 4);
    AppendBigEndian(out, static_cast<uint64_t>(numbers[i]), 8);
  });
}

std::string ArrayOf(SqlTexts texts) {
  size_t bytes = 0;
  for (const std::string_view text : texts) {
    bytes += text.size();
  }
  return ArrayOf(texts.size(), kBytea, bytes, [&](std::string& out, size_t i) {
    AppendBigEndian(out, texts[i].size(), 4);
    out.append(texts[i]);
  });
}

// The values of a statement as libpq wants them.
struct Values {
  explicit Values(const std::vector<SqlValue>& values) {
    made.reserve(values.size());
    for (const SqlValue& value : values) {
      if (const auto* number = std::get_if<int64_t>(&value)) {
        Add(kInt8, made.emplace_back(std::to_string(*number)), 0);
      } else if (const auto* bytes = std::get_if<std::string_view>(&value)) {
        Add(kBytea, *bytes, 1);
      } else if (const auto* text = std::get_if<SqlText>(&value)) {
        Add(kTypeOfItsUse, made.emplace_back(text->utf8), 0);  // libpq wants an end
      } else if (const auto* flag = std::get_if<bool>(&value)) {
        Add(kBool, *flag ? "t" : "f", 0);
      } else if (std::holds_alternative<std::nullptr_t>(value)) {
        Add(kTypeOfItsUse, {}, 0);
        texts.back() = nullptr;
      } else if (const auto* numbers = std::get_if<SqlNumbers>(&value)) {
        Add(kInt8s, made.emplace_back(ArrayOf(*numbers)), 1);
      } else {
        Add(kByteas, made.emplace_back(ArrayOf(std::get<SqlTexts>(value))), 1);
      }
    }
  }
  void Add(Oid type, std::string_view bytes, int format) {
    types.push_back(type);
    texts.push_back(bytes.data() == nullptr ? "" : bytes.data());  // none at all would be NULL
    lengths.push_back(static_cast<int>(bytes.size()));
    formats.push_back(format);
  }
  // Whether a statement that was prepared for these takes them. NULL goes for any type.
  bool Fit(const std::vector<Oid>& prepared) const {
    if (prepared.size() != types.size()) {
      return false;
    }
    for (size_t i = 0; i < types.size(); i++) {
      if (prepared[i] != types[i] && texts[i] != nullptr) {
        return false;
      }
    }
    return true;
  }
  int size() const { return static_cast<int>(texts.size()); }

  std::vector<std::string> made;
  std::vector<Oid> types;
  std::vector<const char*> texts;
  std::vector<int> lengths;
  std::vector<int> formats;
};

}  // namespace

std::optional<Error> UnfitForPostgres(const SqlStatement& statement) {
  for (size_t i = 0; i < statement.values.size(); i++) {
    const auto* text = std::get_if<SqlText>(&statement.values[i]);
    if (text != nullptr && text->utf8.find('\0') != std::string_view::npos) {
      return Error{Code::kInvalid, Effect::kNone,
                   "$" + std::to_string(i + 1) +
                       " is text with a byte 0, which PostgreSQL does not take; send it as bytes"};
    }
  }
  return std::nullopt;
}

Error PostgresConnection::Broken(Effect effect) const {
  return {Code::kUnavailable, effect, "PostgreSQL: " + OneLine(PQerrorMessage(connection_.get()))};
}

Result<std::unique_ptr<PostgresConnection>> PostgresConnection::Open(const SqlEndpoint& endpoint,
                                                                     const SqlTimes& times,
                                                                     BootTime until) {
  const std::string port = std::to_string(endpoint.port);
  const std::string socket(endpoint.Parameter("host"));
  const std::string mode(endpoint.Parameter("sslmode"));
  const std::string ca(endpoint.Parameter("sslrootcert"));
  std::vector<const char*> names;
  std::vector<const char*> values;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) {
      names.push_back(name);
      values.push_back(value.c_str());
    }
  };
  const std::string own = "oncemq";
  const std::string utf8 = "UTF8";
  const std::string writable = "read-write";
  add("host", endpoint.host.empty() ? socket : endpoint.host);
  add("port", port);
  add("user", endpoint.user);
  add("password", endpoint.password);
  add("dbname", endpoint.database);
  add("sslmode", mode);
  add("sslrootcert", ca);
  add("application_name", own);
  add("client_encoding", utf8);  // of SqlText, whatever the server's is
  add("target_session_attrs", writable);
  names.push_back(nullptr);
  values.push_back(nullptr);
  PGconn* connection = PQconnectStartParams(names.data(), values.data(), 0);
  if (connection == nullptr) {
    return Error{Code::kUnavailable, Effect::kNone, "no memory for a connection to PostgreSQL"};
  }
  std::unique_ptr<PostgresConnection> made(new PostgresConnection(connection));
  if (const Status done = made->Connect(until); !done) {
    return done.error();
  }
  // Another isolation would look at the store before it has waited for what it must see.
  // The server's refusals come before the deadline of a call: they say more than silence.
  const std::string longest = std::to_string(std::max<int64_t>(times.call.count() * 7 / 8, 1));
  const std::string lock = std::to_string(std::max<int64_t>(times.call.count() * 3 / 4, 1));
  const std::string idle = std::to_string(times.idle.count());
  std::string text =
      "SELECT set_config('default_transaction_isolation', 'read committed', false), "
      "set_config('statement_timeout', convert_from($1, 'UTF8'), false), "
      "set_config('lock_timeout', convert_from($2, 'UTF8'), false), "
      "set_config('bytea_output', 'hex', false)";
  SqlStatement sets{{}, {std::string_view(longest), std::string_view(lock)}};
  if (times.idle > milliseconds(0)) {
    text += ", set_config('idle_in_transaction_session_timeout', convert_from($3, 'UTF8'), false)";
    sets.values.emplace_back(std::string_view(idle));
  }
  if (times.durable) {
    text +=
        ", set_config('synchronous_commit', CASE current_setting('synchronous_commit') "
        "WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)";
  }
  sets.text = text;
  const auto set = made->Run({&sets, 1}, until);
  if (!set || set->refusal) {
    Error error = set ? SqlError(*set->refusal) : set.error();
    error.effect = Effect::kNone;  // nothing of the caller's was sent
    return error;
  }
  return made;
}

Status PostgresConnection::Connect(BootTime until) {
  PGconn* connection = connection_.get();
  // libpq would write them to the standard error.
  PQsetNoticeReceiver(
      connection, [](void*, const PGresult*) {}, nullptr);
  PQsetErrorVerbosity(connection, PQERRORS_VERBOSE);
  PostgresPollingStatusType wants = PGRES_POLLING_WRITING;
  while (PQstatus(connection) != CONNECTION_BAD && wants != PGRES_POLLING_OK &&
         wants != PGRES_POLLING_FAILED) {
    if (!WaitReady(PQsocket(connection), wants == PGRES_POLLING_READING ? POLLIN : POLLOUT,
                   until)) {
      return Error{Code::kTimeout, Effect::kNone, "PostgreSQL lets nobody in, in time"};
    }
    wants = PQconnectPoll(connection);
  }
  if (wants != PGRES_POLLING_OK) {
    Error error = Broken(Effect::kNone);
    error.message.erase(std::min(error.message.find(" LOCATION:  "), error.message.size()));
    const std::string_view why = error.message;
    const std::string_view state = StateOfFailure(why);
    // A pool in front of the server has states of its own, and libpq has none.
    if (state.starts_with("28") || why.find("authentication failed") != std::string_view::npos ||
        why.find("no password supplied") != std::string_view::npos) {
      error.code = Code::kRefused;
    } else if (state.starts_with("3D")) {
      error.code = Code::kInvalid;  // no such database
    }
    return error;
  }
  PQsetErrorVerbosity(connection, PQERRORS_DEFAULT);
  if (PQsetnonblocking(connection, 1) != 0 || PQenterPipelineMode(connection) != 1) {
    return Broken(Effect::kNone);
  }
  return {};
}

bool PostgresConnection::Fresh() {
  pollfd waits{PQsocket(connection_.get()), POLLIN, 0};
  return poll(&waits, 1, 0) == 0;
}

bool PostgresConnection::Send(const SqlStatement& statement, std::vector<SentStep>& sent_steps) {
  PGconn* connection = connection_.get();
  const Values values(statement.values);
  const auto execute = [&](const std::string& name) {
    sent_steps.push_back({});
    return PQsendQueryPrepared(connection, name.c_str(), values.size(), values.texts.data(),
                               values.lengths.data(), values.formats.data(), 0) == 1;
  };
  const auto [begin, end] = prepared_.equal_range(statement.text);
  for (auto known = begin; known != end; ++known) {
    if (values.Fit(known->second.types)) {
      return execute(known->second.name);
    }
  }
  const std::string text(statement.text);
  if (prepared_.size() >= kMostPrepared || statement.values.empty()) {
    sent_steps.push_back({});
    return PQsendQueryParams(connection, text.c_str(), values.size(), values.types.data(),
                             values.texts.data(), values.lengths.data(), values.formats.data(),
                             0) == 1;
  }
  for (const SentStep& step : sent_steps) {
    if (step.prepares == text && values.Fit(step.types)) {
      return execute(NameOf(text, step.types));
    }
  }
  const std::string name = NameOf(text, values.types);
  sent_steps.push_back({text, values.types});
  return PQsendPrepare(connection, name.c_str(), text.c_str(), values.size(),
                       values.types.data()) == 1 &&
         execute(name);
}

Result<SqlOutcome> PostgresConnection::Run(std::span<const SqlStatement> statements,
                                           BootTime until) {
  std::vector<SentStep> sent_steps;
  for (const SqlStatement& statement : statements) {
    if (auto unfit = UnfitForPostgres(statement)) {
      return *std::move(unfit);
    }
  }
  for (const SqlStatement& statement : statements) {
    if (!Send(statement, sent_steps)) {
      // A part of it may be on its way; without its end the server does none of it.
      return Broken(Effect::kNone);
    }
  }
  if (PQpipelineSync(connection_.get()) != 1) {
    return Broken(Effect::kUnknown);
  }
  if (const Status sent = Flush(until); !sent) {
    return sent.error();
  }
  return Collect(sent_steps, until);
}

// Reads too: a server that can't get rid of its answers takes nothing more.
Status PostgresConnection::Flush(BootTime until) {
  PGconn* connection = connection_.get();
  for (;;) {
    const int left = PQflush(connection);
    if (left == 0) {
      return {};
    }
    if (left < 0) {
      return Broken(Effect::kUnknown);
    }
    if (!WaitReady(PQsocket(connection), POLLIN | POLLOUT, until)) {
      return Error{Code::kTimeout, Effect::kUnknown, "PostgreSQL takes nothing"};
    }
    if (PQconsumeInput(connection) != 1) {
      return Broken(Effect::kUnknown);
    }
  }
}

Result<PostgresConnection::ResultPtr> PostgresConnection::Next(BootTime until) {
  PGconn* connection = connection_.get();
  while (PQisBusy(connection) != 0) {
    if (!WaitReady(PQsocket(connection), POLLIN, until)) {
      return Error{Code::kTimeout, Effect::kUnknown, "PostgreSQL did not answer in time"};
    }
    if (PQconsumeInput(connection) != 1) {
      return Broken(Effect::kUnknown);
    }
  }
  return ResultPtr(PQgetResult(connection));
}

// Until the end of the pipeline is answered: the server commits there, and not before.
Result<SqlOutcome> PostgresConnection::Collect(const std::vector<SentStep>& sent_steps,
                                               BootTime until) {
  SqlOutcome outcome;
  size_t at = 0;
  for (bool between = false;;) {
    auto next = Next(until);
    if (!next) {
      return next.error();
    }
    PGresult* result = next->get();
    if (result == nullptr) {
      if (std::exchange(between, true)) {
        return Broken(Effect::kUnknown);  // libpq has nothing more to say: the connection is gone
      }
      at++;
      continue;
    }
    between = false;
    switch (PQresultStatus(result)) {
      case PGRES_PIPELINE_SYNC:
        return outcome;
      case PGRES_PIPELINE_ABORTED:
        break;
      case PGRES_COMMAND_OK:
      case PGRES_TUPLES_OK:
        if (at < sent_steps.size() && !sent_steps[at].prepares.empty()) {
          prepared_.emplace(sent_steps[at].prepares,
                            Prepared{sent_steps[at].types,
                                     NameOf(sent_steps[at].prepares, sent_steps[at].types)});
        } else {
          outcome.answers.push_back(AnswerOf(result));
        }
        break;
      default: {
        const std::string state = FieldOf(result, PG_DIAG_SQLSTATE);
        const std::string severity = FieldOf(result, PG_DIAG_SEVERITY_NONLOCALIZED);
        if (state.empty() || severity == "FATAL" || severity == "PANIC") {
          // The server ends the connection, and may have committed before it was told to.
          return Error{Code::kUnavailable, Effect::kUnknown,
                       "PostgreSQL: " + OneLine(PQresultErrorMessage(result))};
        }
        outcome.refusal =
            SqlRefusal{state, 0, FieldOf(result, PG_DIAG_MESSAGE_PRIMARY), outcome.answers.size(),
                       IsOldPlan(state, FieldOf(result, PG_DIAG_SOURCE_FUNCTION))};
        outcome.answers.clear();
      }
    }
  }
}

Result<std::optional<std::string>> PostgresConnection::Heard(BootTime until) {
  PGconn* connection = connection_.get();
  for (;;) {
    const std::unique_ptr<PGnotify, void (*)(void*)> notice(PQnotifies(connection), PQfreemem);
    if (notice) {
      return std::optional(std::string(notice->extra == nullptr ? "" : notice->extra));
    }
    if (!WaitReady(PQsocket(connection), POLLIN, until)) {
      return std::optional<std::string>();
    }
    if (PQconsumeInput(connection) != 1) {
      return Broken(Effect::kUnknown);
    }
  }
}

void PostgresConnection::Hang() {
  shutdown(PQsocket(connection_.get()), SHUT_RDWR);
}

}  // namespace oncemq
