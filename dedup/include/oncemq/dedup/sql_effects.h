// SPDX-License-Identifier: Apache-2.0
// SqlEffects: the transaction that a run of messages shares with the markers of their ids, at the
// level atomic in a SQL database. Either all of it is there after a crash, or nothing.
//
//   Outcome OnTransfer(const Message& message, Context& context) {
//     const Transfer transfer = Read(message);  // yours
//     const auto moved = context.sql()->Run({
//         "UPDATE accounts SET balance = balance - $1 WHERE name = $2",
//         {transfer.cents, SqlText{transfer.from}}});
//     if (!moved && moved.error().code == Code::kInvalid) return Reject{moved.error().message};
//     if (!moved) return Retry{};
//     return Done{};
//   }
//
// Promise: a statement that the database refuses costs its message: all its writes are
// taken back, and the run goes on with the next one. Procedures and DO blocks cannot end the
// transaction: the database refuses their COMMIT.
//
// Limits: statements that begin or end a transaction are refused. At most 50 messages with Run()
// share a transaction. Rows that they lock are locked until the run ends, so handlers that wait for
// something else in between hold up others; after `idle` (PostgresWindowOptions) the server ends
// the transaction.
//
// Failure: kInvalid: the database refuses the statement for its content (a constraint, a value,
// text that is no UTF-8, an error that a function raises), so repeating it does not help.
// kInternal: the statement does not fit the database (class 42 of SQLSTATE: no such table, no
// right, text = bytea), or begins or ends a transaction. That says nothing of the message: answer
// Retry, and it waits for the remedy. kFenced: another process is at work on an id of the run, or
// has finished it. kUnavailable, kTimeout: the transaction is gone, or a statement that an earlier
// message of the run added is refused: the text names that message, and the run comes again. After
// any failure the message cannot be Done; answer Reject to kInvalid alone, else Retry.
//
// Thread safety: none; belongs to the handler's call.
#pragma once

#include "oncemq/base/result.h"
#include "oncemq/clients/sql_session.h"

namespace oncemq {

class SqlEffects : public SqlSession {
 public:
  // Records the statement: it is sent together with the COMMIT, in one round trip for the whole
  // run. For statements that are not refused as a rule: a refusal costs the run, its messages come
  // again one by one, and the partition stops at the one whose statement is refused, whatever for.
  // Values are copied. Arrays are kInvalid.
  virtual Status Add(const SqlStatement& statement) = 0;

 protected:
  ~SqlEffects() = default;
};

}  // namespace oncemq
