// SPDX-License-Identifier: Apache-2.0
// The window in PostgreSQL: the record of uncertain calls.
#include <array>

#include "postgres_window_engine.h"

namespace oncemq {

Status PostgresWindow::RecordUncertain(std::span<const UncertainCall> calls) {
  if (calls.empty()) {
    return {};
  }
  std::vector<std::string_view> ids;
  std::array<std::vector<int64_t>, 4> numbers;
  for (const UncertainCall& call : calls) {
    ids.push_back(call.id);
    const std::array<int64_t, 4> one{call.at.source, call.at.partition, call.at.offset,
                                     call.attempt};
    for (size_t i = 0; i < one.size(); i++) {
      numbers[i].push_back(one[i]);
    }
  }
  const SqlStatement record = Text(
      "record_uncertain", {scope_.number, SqlTexts(ids), SqlNumbers(numbers[0]),
                           SqlNumbers(numbers[1]), SqlNumbers(numbers[2]), SqlNumbers(numbers[3])});
  const auto recorded = All({&record, 1});
  return recorded ? Status() : Status(recorded.error());
}

Result<std::vector<UncertainRecord>> PostgresWindow::ListUncertain(WallTime since) {
  const SqlStatement list = Text("list_uncertain", {scope_.number, since.micros / 1'000});
  const auto listed = All({&list, 1});
  if (!listed) {
    return listed.error();
  }
  const SqlAnswer& rows = listed->front();
  std::vector<UncertainRecord> records;
  for (size_t i = 0; i < rows.rows.size(); i++) {
    const auto number = [&](size_t column) { return NumberOf(rows, i, column); };
    records.push_back(
        {.id = rows.rows[i][0].value_or(""),
         .topic = rows.rows[i][7].value_or(""),
         .at = {static_cast<uint32_t>(number(1)), static_cast<int32_t>(number(2)), number(3)},
         .attempt = static_cast<uint32_t>(number(4)),
         .first = {number(5) * 1'000},
         .last = {number(6) * 1'000}});
  }
  return records;
}

}  // namespace oncemq
