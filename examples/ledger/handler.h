// SPDX-License-Identifier: Apache-2.0
// The handler: one event, booked in the store of the window, in one transaction with the marker of
// its id. In PostgreSQL these are the tables of schema.sql; in RocksDB the rows of row_ledger.h.
//
// Failure: an event that is none, that a constraint refuses or that the payer cannot cover is
// rejected with its reason. A store that does not answer is asked again.
//
// Thread safety: any thread.
#pragma once

#include "oncemq/framework/handler.h"

namespace ledger {

oncemq::Outcome OnEvent(const oncemq::Message& message, oncemq::Context& context);

}  // namespace ledger
