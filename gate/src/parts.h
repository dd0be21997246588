// SPDX-License-Identifier: Apache-2.0
// Parts of a canonical text, each after its length, so that no two lists of parts look alike.
#pragma once

#include <string>
#include <string_view>

#include "oncemq/base/bytes.h"

namespace oncemq {

inline void AppendPart(std::string& out, std::string_view part) {
  AppendVarint(out, part.size());
  out += part;
}

}  // namespace oncemq
