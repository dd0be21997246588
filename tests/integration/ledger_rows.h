// SPDX-License-Identifier: Apache-2.0
// Effects in the stores themselves (level atomic), as the crash tests write and judge them: blind
// counts, so that an effect that comes twice is seen.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "oncemq/dedup/window.h"

namespace oncemq::testing {

// `kind`: memory | opaque-memory | opaque | guarded | atomic; the last three lie below `dir`, and
// their writes are never synced where "-unsynced" follows. "memory" is guarded.
std::unique_ptr<Window> OpenTestWindow(std::string_view kind, const std::filesystem::path& dir);

// Counts the id, and whether its key has moved on. False: the store did not take it.
bool StoreLedgerRow(Effects& effects, uint32_t id, std::string_view key);

// The rows that count an id, and keys that went back.
std::string LedgerRowOf(uint32_t id);
inline constexpr std::string_view kDisorderRow = "disorder";

}  // namespace oncemq::testing
