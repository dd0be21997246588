// SPDX-License-Identifier: Apache-2.0
// The tables of schema.sql, and those of the window. Made twice, they stay as they are.
//
// Thread safety: any thread. Blocks: for a call of the database each.
#pragma once

#include <string_view>

#include "oncemq/base/result.h"

namespace ledger {

// For a role that may make tables. The address as of OpenPostgres.
oncemq::Status MakeTables(std::string_view address);

}  // namespace ledger
