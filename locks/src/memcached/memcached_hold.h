// SPDX-License-Identifier: Apache-2.0
// MemcachedHold: what a key holds while its name is held (docs/formats.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "oncemq/base/token.h"

namespace oncemq {

struct MemcachedHold {
  Token token;
  bool recalled = false;
  std::string name;  // whole, with its space: two may have the same key
  std::string who;
};

std::string Encode(const MemcachedHold& hold);
// Nothing: it is not ours, or of another version.
std::optional<MemcachedHold> DecodeMemcachedHold(std::string_view bytes);

}  // namespace oncemq
