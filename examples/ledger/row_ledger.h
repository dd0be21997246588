// SPDX-License-Identifier: Apache-2.0
// The ledger in RocksDB: rows of the partition's own store.
//
//   account/<name>               the account is open
//   balance/<name>               a sum
//   posting/<key>/<number>/<n>   "<message id> <account> <cents>"; n: 0 the payer, 1 the payee
//   statement/<key>/<number>     "<message id> <balance>"
//   lines/<key>                  how many numbers the account <key> has used
//
// The rows are numbered, so an event that is booked twice stands there twice.
//
// Limits: each partition has a ledger of its own. An account that is paid by one of another
// partition has a balance there too; a transfer is covered by the balance in the payer's partition
// alone. A day is closed in PostgreSQL only.
//
// Thread safety: belongs to the handler's call.
#pragma once

#include <string_view>

#include "oncemq/base/result.h"
#include "oncemq/dedup/effects.h"
#include "postings.h"

namespace ledger {

// Failure: a Refusal, or that of Effects.
oncemq::Status BookRows(oncemq::Effects& rows, const Event& event, std::string_view id);

}  // namespace ledger
