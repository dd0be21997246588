// SPDX-License-Identifier: Apache-2.0
// The fence of a lease in the transaction of its effect: whoever was overtaken changes nothing.
//
//   const auto begun = BeginFenced(*client, lease);   // the table: MakeFenceTable, once
//   if (!begun || !*begun) { return; }                // no answer; a later holder was here
//   SqlTransaction& transaction = **begun;
//   ... read and write what the lease protects, in this transaction ...
//   if (!transaction.Commit()) { ... it may have been written: look ... }
//
// It comes *before* the reading. A check at the write alone loses an update: the former holder
// writes what it has read before, and nobody has raised the fence yet.
#pragma once

#include <memory>
#include <string_view>

#include "oncemq/base/result.h"
#include "oncemq/clients/sql_session.h"
#include "oncemq/locks/lease.h"

namespace oncemq {

class SqlClient;       // oncemq/clients/sql_client.h
class SqlTransaction;  // there, too

enum class FenceInstalled : unsigned char {
  kYes,        // nobody passes until the transaction ends, and nobody with a lower fence ever
  kOvertaken,  // a later holder was here: do nothing, and roll back
  kLost,       // the lease is not ours any more; the database was not asked
};

// Makes the table oncemq_fences_v1 where it is missing; once, by a role that may.
Status MakeFenceTable(SqlSession& session);

// Raises the fence that the database keeps for the lease's name to the lease's own, and locks its
// row until the transaction ends. So `transaction` is one: a session that commits each statement by
// itself is protected from nothing. Two names never meet there, unless two spaces of locks or two
// engines guard the same database by the same name; give such targets names of their own.
// Failures: kInvalid for a lease without a fence, and for a shared or counted one, beside which
// others are held; for one of yours (AcquireOptions::fence) that does not fit 63 bits; the
// session's. Roll back behind any.
Result<FenceInstalled> InstallFence(SqlSession& transaction, const Lease& lease);

// A transaction that only a lease begins: its fence is installed. None: a later holder was here, or
// the lease is not ours any more; nothing is left of it. Failures: as above, and the client's.
Result<std::unique_ptr<SqlTransaction>> BeginFenced(SqlClient& client, const Lease& lease);

}  // namespace oncemq
