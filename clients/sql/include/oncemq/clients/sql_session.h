// SPDX-License-Identifier: Apache-2.0
// SqlSession: whatever runs a statement with parameters in a SQL database. Our clients are such
// sessions, and a user's own connection or transaction becomes one by an adapter of a few lines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "oncemq/base/result.h"

namespace oncemq {

enum class SqlDialect : unsigned char { kPostgres, kMariadb };

// Arrays, for PostgreSQL only (bigint[], bytea[]): unnest() makes rows of them.
using SqlNumbers = std::span<const int64_t>;
using SqlTexts = std::span<const std::string_view>;
// A whole number (bigint), or bytes (bytea, VARBINARY, BLOB), or an array of them. PostgreSQL does
// not compare bytes with text: for a column of text say convert_from($1, 'UTF8').
using SqlValue = std::variant<int64_t, std::string_view, SqlNumbers, SqlTexts>;

// Values never stand in the text: it has $1, $2 for them in PostgreSQL, ? in MariaDB.
struct SqlStatement {
  std::string_view text;
  std::vector<SqlValue> values = {};
};

// None is NULL. Numbers are decimal digits, bytes are themselves.
using SqlCell = std::optional<std::string>;
using SqlRow = std::vector<SqlCell>;

struct SqlAnswer {
  uint64_t affected = 0;  // rows that it has changed
  std::vector<SqlRow> rows;
};

// Thread safety: the implementation's.
class SqlSession {
 public:
  virtual ~SqlSession() = default;
  virtual SqlDialect dialect() const = 0;
  // What the server refuses is an Error, with Effect::kNone if nothing came of it.
  virtual Result<SqlAnswer> Run(const SqlStatement& statement) = 0;
};

}  // namespace oncemq
