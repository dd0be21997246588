// SPDX-License-Identifier: Apache-2.0
// The row in which a local store keeps what it knows of a partition (StoreKnowledge in window.h).
// It stands behind everything that it speaks of in one and the same log, so whatever a crash leaves
// of that, the row is true.
//
// Thread safety: none needed, values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "oncemq/dedup/window.h"

namespace oncemq {

std::string EncodeKnown(const Announcement& announcement);
// Without incarnations, which the manifest has. Total.
std::optional<StoreKnowledge> DecodeKnown(std::string_view row);

}  // namespace oncemq
