// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/sql_row.h"

#include <optional>
#include <string>
#include <vector>

namespace oncemq {
namespace {

// What is longer PostgreSQL cuts, so two names would be one.
constexpr size_t kLongestInPostgres = 63;

Error Invalid(const char* why) {
  return {Code::kInvalid, Effect::kNone, why};
}

std::optional<Error> Unfit(SqlDialect dialect, std::string_view name) {
  if (name.empty() || name.find('\0') != std::string_view::npos) {
    return Invalid("the name of a table or a column is empty, or has a NUL");
  }
  if (dialect == SqlDialect::kPostgres && name.size() > kLongestInPostgres) {
    return Invalid("PostgreSQL would cut the name of a table or a column behind 63 bytes");
  }
  return std::nullopt;
}

// A statement in the making: names are quoted, values never stand in its text.
class Words {
 public:
  explicit Words(SqlDialect dialect) : postgres_(dialect == SqlDialect::kPostgres) {}

  Words& Plain(std::string_view words) {
    text_ += words;
    return *this;
  }
  Words& Name(std::string_view name) {
    const char quote = postgres_ ? '"' : '`';
    text_ += quote;
    for (const char c : name) {
      text_.append(c == quote ? 2 : 1, c);
    }
    text_ += quote;
    return *this;
  }
  Words& Table(const SqlRowOf& row) {
    return row.schema.empty() ? Name(row.table) : Name(row.schema).Plain(".").Name(row.table);
  }
  Words& Value(const SqlColumnValue& value) {
    if (const auto* number = std::get_if<int64_t>(&value)) {
      return Place("", *number, "");
    }
    if (const auto* text = std::get_if<SqlText>(&value)) {
      return postgres_ ? Place("convert_from(", text->utf8, ", 'UTF8')")
                       : Place("CONVERT(", text->utf8, " USING utf8mb4)");
    }
    return Place("", std::get<std::string_view>(value), "");
  }
  Words& Where(const SqlRowOf& row) {
    return Plain(" WHERE ").Name(row.column).Plain(" = ").Value(row.key);
  }
  Words& WhereVersion(const RowVersion& version) {
    return Plain(" AND ").Name(version.column).Plain(" = ").Value(version.read);
  }
  Result<SqlAnswer> Run(SqlSession& session) const { return session.Run({text_, values_}); }

 private:
  Words& Place(std::string_view before, const SqlValue& value, std::string_view behind) {
    values_.push_back(value);
    text_ += before;
    text_ += postgres_ ? "$" + std::to_string(values_.size()) : "?";
    text_ += behind;
    return *this;
  }

  const bool postgres_;
  std::string text_;
  std::vector<SqlValue> values_;
};

std::optional<Error> UnfitRow(SqlDialect dialect, const SqlRowOf& row) {
  if (!row.schema.empty()) {
    if (auto wrong = Unfit(dialect, row.schema)) {
      return wrong;
    }
  }
  auto wrong = Unfit(dialect, row.table);
  return wrong ? wrong : Unfit(dialect, row.column);
}

// Whether the row is there. `how`: what stands behind the statement.
Result<bool> Found(SqlSession& session, const SqlRowOf& row, std::string_view how) {
  const auto rows = Words(session.dialect())
                        .Plain("SELECT 1 FROM ")
                        .Table(row)
                        .Where(row)
                        .Plain(how)
                        .Run(session);
  if (!rows) {
    return rows.error();
  }
  if (rows->rows.size() > 1) {
    return Invalid("the key names more rows than one");
  }
  return rows->rows.size() == 1;
}

std::optional<Error> UnfitUpdate(SqlDialect dialect, const RowVersion& version,
                                 std::span<const SqlAssignment> assignments) {
  if (assignments.empty()) {
    return Invalid("an update sets at least one column");
  }
  for (const SqlAssignment& assignment : assignments) {
    if (auto wrong = Unfit(dialect, assignment.column)) {
      return wrong;
    }
    if (assignment.column == version.column) {
      return Invalid("the version is raised by the update itself");
    }
  }
  return Unfit(dialect, version.column);
}

}  // namespace

Result<RowLocked> LockRow(SqlSession& transaction, const SqlRowOf& row, RowWait wait) {
  if (auto wrong = UnfitRow(transaction.dialect(), row)) {
    return *std::move(wrong);
  }
  // Skipped and not refused: a refusal would end the transaction, and look like other troubles.
  const std::string_view how = wait == RowWait::kNo ? " FOR UPDATE SKIP LOCKED" : " FOR UPDATE";
  auto found = Found(transaction, row, how);
  if (!found || *found) {
    return found ? Result<RowLocked>(RowLocked::kYes) : found.error();
  }
  if (wait == RowWait::kUntilTimeout) {
    return RowLocked::kNoRow;
  }
  found = Found(transaction, row, "");
  if (!found) {
    return found.error();
  }
  return *found ? RowLocked::kBusy : RowLocked::kNoRow;
}

Result<RowUpdated> UpdateIfVersion(SqlSession& session, const SqlRowOf& row,
                                   const RowVersion& version,
                                   std::span<const SqlAssignment> assignments) {
  const SqlDialect dialect = session.dialect();
  auto wrong = UnfitRow(dialect, row);
  if (!wrong) {
    wrong = UnfitUpdate(dialect, version, assignments);
  }
  if (wrong) {
    return *std::move(wrong);
  }
  Words update(dialect);
  update.Plain("UPDATE ").Table(row).Plain(" SET ");
  for (const SqlAssignment& assignment : assignments) {
    update.Name(assignment.column).Plain(" = ").Value(assignment.value).Plain(", ");
  }
  update.Name(version.column).Plain(" = ").Name(version.column).Plain(" + 1").Where(row);
  update.WhereVersion(version);
  const auto updated = update.Run(session);
  if (!updated) {
    return updated.error();
  }
  if (updated->affected > 1) {
    return Invalid("the key names more rows than one: roll back");
  }
  if (updated->affected == 1) {
    return RowUpdated::kYes;
  }
  // What the update has seen, and not what the transaction saw first; its lock is ours already.
  const auto found =
      Found(session, row, dialect == SqlDialect::kMariadb ? " LOCK IN SHARE MODE" : "");
  if (!found) {
    return found.error();
  }
  return *found ? RowUpdated::kOvertaken : RowUpdated::kNoRow;
}

}  // namespace oncemq
