// SPDX-License-Identifier: Apache-2.0
// A LockEntry as bytes, for stores that keep it in a row or a key: version 1 of docs/formats.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lock_entry.h"

namespace oncemq {

// An idle entry has no bytes at all.
std::string EncodeLockEntry(const LockEntry& entry);
// None for bytes that no encoder wrote, of another version, or of an entry that the rules would
// not make.
std::optional<LockEntry> DecodeLockEntry(std::string_view bytes);

}  // namespace oncemq
