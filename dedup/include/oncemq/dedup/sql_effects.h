// SPDX-License-Identifier: Apache-2.0
// SqlEffects: the transaction that a batch of messages shares with the markers of their ids, at the
// level atomic in a SQL database. Either all of it is there after a crash, or nothing.
//
//   const auto moved = context.sql()->Run({
//       "UPDATE accounts SET balance = balance - $1 WHERE name = $2",
//       {transfer.cents, SqlText{transfer.from}}});
//   if (moved) return Done{};
//   if (moved.error().code == Code::kInvalid) return Reject{moved.error().message};
//   return Retry{};
//
// Promise: a statement that the database refuses costs its message alone: all its writes are taken
// back, and the batch goes on with the next one.
//
// Limits: statements that begin or end a transaction are refused. At most 50 messages with Run()
// share a transaction, and their rows stay locked until it ends (docs/windows.md).
//
// Failure: kInvalid is about the content of the statement; answer Reject to it alone. kInternal:
// the statement does not fit the database. kFenced: another process has the id. kUnavailable,
// kTimeout: the batch comes again. After any failure the message cannot be Done.
//
// Thread safety: none; belongs to the handler's call.
#pragma once

#include "oncemq/base/result.h"
#include "oncemq/clients/sql_session.h"

namespace oncemq {

class SqlEffects : public SqlSession {
 public:
  // Records the statement: it is sent together with the COMMIT, in one round trip for the whole
  // batch. For statements that are not refused as a rule: a refusal costs the batch, its messages
  // come again one by one, and the partition stops at the one whose statement is refused, whatever
  // for. Values are copied. Arrays are kInvalid.
  virtual Status Add(const SqlStatement& statement) = 0;

 protected:
  ~SqlEffects() = default;
};

}  // namespace oncemq
