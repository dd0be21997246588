// SPDX-License-Identifier: Apache-2.0
#include "window_uncertain_command.h"

#include <algorithm>
#include <iostream>
#include <optional>

#include "exit_code.h"
#include "oncemq/base/clock.h"
#include "oncemq/dedup/window.h"
#include "safe_json.h"
#include "units.h"
#include "window_json.h"
#ifdef ONCEMQ_WITH_ROCKSDB
#include "oncemq/dedup/store_reader.h"
#endif

namespace oncemq {
namespace {

using nlohmann::ordered_json;

// In milliseconds since 1970; nothing: it is no time.
std::optional<int64_t> Since(const std::string& text) {
  if (text.empty()) {
    return 0;
  }
  if (const auto ago = ParseDuration(text)) {
    return std::max<int64_t>(SystemClock::Instance().Wall().micros / 1'000 - ago->count(), 0);
  }
  return ParseTime(text);
}

Result<ordered_json> AsJson(Result<std::vector<UncertainRecord>> records) {
  return records ? Result<ordered_json>(UncertainAsJson(*records)) : records.error();
}

StoreQuery UncertainSince([[maybe_unused]] WallTime since) {
#ifdef ONCEMQ_WITH_ROCKSDB
  return [since](StoreReader& store) { return AsJson(store.ListUncertain(since)); };
#else
  return [](StoreReader&) { return Result<ordered_json>(ordered_json()); };
#endif
}

// What all places say, in the order of the last calls.
ordered_json AsOne(const WindowAnswer& answer) {
  ordered_json out;
  std::vector<ordered_json> rows;
  bool more = false;
  for (const std::vector<ordered_json>* said : {&answer.services, &answer.stores}) {
    for (const ordered_json& one : *said) {
      const ordered_json its = one.value("uncertain", ordered_json::array());
      rows.insert(rows.end(), its.begin(), its.end());
      more = more || one.value("more", false);
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const ordered_json& a, const ordered_json& b) {
    return a.value("last_ms", int64_t{0}) < b.value("last_ms", int64_t{0});
  });
  out["uncertain"] = std::move(rows);
  out["more"] = more;
  return out;
}

std::string RowText(const ordered_json& row) {
  return FormatTime(row.value("last_ms", int64_t{0})) + "  " + PartOf(row, "topic") + " [" +
         PartOf(row, "partition") + "]  offset " + PartOf(row, "offset") + "  attempt " +
         PartOf(row, "attempt") + "  " +
         (row.contains("id_hex") ? "hex " + PartOf(row, "id_hex") : PartOf(row, "id")) + "\n";
}

}  // namespace

int WindowUncertainCommand(const WindowTarget& target, const WindowUncertainArguments& arguments) {
  const auto since_ms = Since(arguments.since);
  if (!since_ms) {
    std::cerr << "--since " << SafeText(arguments.since)
              << ": say how long ago (24h), or a time (2026-11-27T10:00:00Z)\n";
    return kExitUsage;
  }
  const WallTime since{*since_ms * 1'000};
  const WindowAnswer answer = QueryWindow(
      target,
      {.request = {.command = "window uncertain", .arguments = {{"since_ms", *since_ms}}},
       .store = UncertainSince(since),
       .server = [since](Window& window) { return AsJson(window.ListUncertain(since)); },
       .enough = [](const ordered_json&) { return false; }});  // each store has records of its own
  if (answer.code != kExitDone) {
    return answer.code;
  }
  const ordered_json all = AsOne(answer);
  if (arguments.json) {
    std::cout << SafeJson(all) << "\n";
  } else {
    std::cout << FromText(answer);
    for (const ordered_json& row : all["uncertain"]) {
      std::cout << RowText(row);
    }
    std::cout << all["uncertain"].size()
              << " messages: the effect of each may have happened more than once\n"
                 "# On record in the store of the window. After it lost changes, the log and the "
                 "counts of `oncemq status` know of more.\n";
  }
  if (all["more"] == true) {
    std::cerr << "there are more: ask again with --since the last time above\n";
  }
  return ReportUnread(answer);
}

}  // namespace oncemq
