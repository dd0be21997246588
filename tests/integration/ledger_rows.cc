// SPDX-License-Identifier: Apache-2.0
#include "ledger_rows.h"

#include <stdexcept>

#include "oncemq/dedup/local_window.h"
#include "oncemq/dedup/memory_window.h"

namespace oncemq::testing {

std::string LedgerRowOf(uint32_t id) {
  return "id/" + std::to_string(id);
}

std::unique_ptr<Window> OpenTestWindow(std::string_view kind, const std::filesystem::path& dir) {
  if (kind == "memory" || kind == "opaque-memory") {
    const Level level = kind == "memory" ? Level::kGuarded : Level::kOpaque;
    return *OpenMemoryWindow({.level = level}, SystemClock::Instance());
  }
  LocalWindowOptions options;
  options.directory = dir / "stores";
  options.level = kind.starts_with("atomic")   ? Level::kAtomic
                  : kind.starts_with("opaque") ? Level::kOpaque
                                               : Level::kGuarded;
  options.sync = kind.find("-unsynced") != kind.npos ? SyncWhen::kNever : SyncWhen::kEachCommit;
  options.generation = kind.ends_with("-large") ? 100'000 : 3'000;  // never full, or many times
  auto window = OpenPartitionWindows(options, SystemClock::Instance());
  if (!window) {
    throw std::runtime_error(ToString(window.error()));
  }
  return *std::move(window);
}

bool StoreLedgerRow(Effects& effects, uint32_t id, std::string_view key) {
  const std::string last = "last/" + std::string(key);
  const auto before = effects.Get(last);
  if (!before) {
    return false;
  }
  const bool back = *before && std::stoul(**before) >= id;
  return effects.Put(last, std::to_string(id)) && effects.Add(LedgerRowOf(id), 1) &&
         (!back || effects.Add(kDisorderRow, 1));
}

}  // namespace oncemq::testing
