// SPDX-License-Identifier: Apache-2.0
// What stands in rows, in and out.
#pragma once

#include "oncemq/base/bytes.h"
#include "oncemq/base/clock.h"
#include "oncemq/clients/sql_session.h"
#include "sql_store.h"

namespace oncemq {

inline int64_t MicrosOf(BootTime time) {
  return time.time_since_epoch().count();
}

// Until when a swap may be done (S3).
inline int64_t FreshUntil(const SqlSwap& swap) {
  return MicrosOf(swap.judged + kSqlFresh);
}

// 0 for what is not there.
inline int64_t NumberOf(const SqlAnswer& answer, size_t row, size_t column) {
  if (row >= answer.rows.size() || column >= answer.rows[row].size()) {
    return 0;
  }
  return ParseDecimal(answer.rows[row][column].value_or("")).value_or(0);
}

// Of the row: version, fence, state, time, epoch.
inline Result<SqlSeen> SeenOf(const SqlAnswer& answer) {
  if (answer.rows.size() != 1 || answer.rows[0].size() != 5 || NumberOf(answer, 0, 3) <= 0) {
    return Error{Code::kCorrupt, Effect::kNone, "the database answered something that is not ours"};
  }
  return SqlSeen{.version = NumberOf(answer, 0, 0),
                 .fence = static_cast<uint64_t>(NumberOf(answer, 0, 1)),
                 .state = answer.rows[0][2].value_or(""),
                 .now = BootTime(microseconds(NumberOf(answer, 0, 3))),
                 .epoch = static_cast<uint32_t>(NumberOf(answer, 0, 4))};
}

// Of the rows whose only column they are.
inline std::vector<std::string> NamesOf(const SqlAnswer& answer) {
  std::vector<std::string> names;
  for (const SqlRow& row : answer.rows) {
    names.push_back(row.at(0).value_or(""));
  }
  return names;
}

}  // namespace oncemq
