// SPDX-License-Identifier: Apache-2.0
// The row that an effect changes, as its lock: held by the transaction of the effect (LockRow), or
// not held at all and checked by a version (UpdateIfVersion). No lease and no lock store: both
// protect one row, for as long as everybody who changes it does so in the same way.
//
//   const SqlRowOf account{.table = "accounts", .column = "id", .key = int64_t{42}};
//   auto transaction = client->Begin();
//   if (!transaction) { return; }
//   const auto locked = LockRow(**transaction, account);     // before anything is read
//   if (!locked || *locked != RowLocked::kYes) { return; }
//   ... read and write the row, in the same transaction ...
//   if (!(*transaction)->Commit()) { ... it may have been written: look ... }
//
// or, when the reading was long ago, maybe in front of a person:
//
//   const std::array set{SqlAssignment{"balance", new_balance}};
//   const auto updated = UpdateIfVersion(*client, account, {"version", version_read}, set);
//   if (updated && *updated == RowUpdated::kOvertaken) { ... read again ... }
#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "oncemq/base/result.h"
#include "oncemq/clients/sql_session.h"

namespace oncemq {

// Whole numbers, bytes (bytea, VARBINARY, BLOB), text. Columns of other types take a statement of
// your own.
using SqlColumnValue = std::variant<int64_t, std::string_view, SqlText>;

// Names are quoted, so they are as the database keeps them: PostgreSQL's are in small letters,
// unless their table was made with quotes.
struct SqlRowOf {
  std::string_view schema = {};  // empty: where the session looks
  std::string_view table;
  std::string_view column;  // the primary key, or unique: MariaDB locks all that it looks at
  SqlColumnValue key;
};

enum class RowWait : unsigned char {
  kUntilTimeout,  // of the session's call; then it is an Error, and the transaction is over
  kNo,            // MariaDB 10.6 or newer
};
enum class RowLocked : unsigned char {
  kYes,    // nobody else changes or locks the row until the transaction ends
  kNoRow,  // nothing is locked, and nobody is kept from making the row
  kBusy,   // with RowWait::kNo only: another transaction has it. Roll back: this one has read now
};

// Locks the row until the transaction ends (SELECT ... FOR UPDATE). `transaction` is one: a session
// that commits each statement by itself is protected from nothing. Call it before anything is read:
// in MariaDB, and at higher isolation in PostgreSQL, a transaction reads on what it saw first.
// Failures: kInvalid (a name that the database would cut or refuse, more rows than one); the
// session's, among them two transactions that wait for each other's rows. Roll back behind any.
//
// Thread safety: as the session.
Result<RowLocked> LockRow(SqlSession& transaction, const SqlRowOf& row,
                          RowWait wait = RowWait::kUntilTimeout);

// A column of whole numbers, NOT NULL, that each change of the row makes one greater.
struct RowVersion {
  std::string_view column;
  int64_t read = 0;  // as it was when the row was read
};
struct SqlAssignment {
  std::string_view column;
  SqlColumnValue value;
};

enum class RowUpdated : unsigned char {
  kYes,
  kOvertaken,  // the row was changed since: nothing was done
  kNoRow,
};

// Sets the columns and raises the version, if the version is still the one that was read. In a
// transaction or by itself; kYes counts when that is committed. Repeated after an Error with
// Effect::kUnknown, kOvertaken may mean that the first try was done: read again.
// Failures: kInvalid (names; no assignments; one of them to the version; more rows than one: roll
// back); the session's.
//
// Thread safety: as the session.
Result<RowUpdated> UpdateIfVersion(SqlSession& session, const SqlRowOf& row,
                                   const RowVersion& version,
                                   std::span<const SqlAssignment> assignments);

}  // namespace oncemq
