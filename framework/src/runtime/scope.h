// SPDX-License-Identifier: Apache-2.0
// The scope of a service: app / namespace / group / handler (rule 52). Ids mean something within
// their scope only, and a commit is believed by its own scope only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "oncemq/framework/runtime.h"

namespace oncemq {

struct ScopeNames {
  std::string_view app;
  std::string_view name_space;
  std::string_view group;
  std::string_view handler;
};

// The same number for the same names, in every process and version: it stands in every commit.
// No two lists of names are joined to the same text.
//
// Thread safety: pure.
uint64_t ScopeOf(const ScopeNames& names);

// Whose ids a store keeps, but for cluster, topic and partition (rule 28). Where an id comes from
// is part of it: other ids under the same name would never meet.
std::string StoreOwner(const RuntimeOptions& options);

}  // namespace oncemq
