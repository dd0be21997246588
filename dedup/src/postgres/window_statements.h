// SPDX-License-Identifier: Apache-2.0
// The statements of the window in PostgreSQL, as statements.sql has them, for one schema.
//
// Thread safety: any thread.
#pragma once

#include <string>
#include <string_view>

#include "sql_texts.h"

namespace oncemq {

// It may be a word of SQL.
std::string QuotedSchema(std::string_view schema);

// `clock`: an expression of SQL, microseconds since 1970.
SqlTextsByName WindowStatements(std::string_view schema, std::string_view clock);

}  // namespace oncemq
