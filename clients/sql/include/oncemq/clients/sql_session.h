// SPDX-License-Identifier: Apache-2.0
// SqlSession: whatever runs a statement with parameters in a SQL database. Our clients are such
// sessions, and a user's own connection or transaction becomes one by an adapter of a few lines.
#pragma once

#include <cstddef>
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
// UTF-8. The database reads it as the type that its place wants, without a cast: text, numeric,
// timestamptz, json, uuid and so on. A place that says no type wants one: $1::numeric.
struct SqlText {
  std::string_view utf8;
};
// NULL (nullptr), a bool, a whole number (bigint), text, bytes (bytea, VARBINARY, BLOB), or an
// array. A std::string_view is bytes: PostgreSQL does not compare them with text. PostgreSQL has no
// text with a byte 0, so such a SqlText is kInvalid there.
using SqlValue =
    std::variant<int64_t, std::string_view, SqlNumbers, SqlTexts, SqlText, bool, std::nullptr_t>;

// Values never stand in the text: it has $1, $2 for them in PostgreSQL, ? in MariaDB.
struct SqlStatement {
  std::string_view text;
  std::vector<SqlValue> values = {};
};

// None is NULL. Numbers are decimal digits, bytes are themselves, all else is the database's text:
// a bool is t or f in PostgreSQL, 1 or 0 in MariaDB.
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
