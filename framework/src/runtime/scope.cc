// SPDX-License-Identifier: Apache-2.0
#include "scope.h"

#include <string>

#include "oncemq/base/hash.h"

namespace oncemq {

uint64_t ScopeOf(const ScopeNames& names) {
  std::string text;
  for (const std::string_view name : {names.app, names.name_space, names.group, names.handler}) {
    // With its length in front: joined by a mark alone, "a:b" and "c" would be "a" and "b:c".
    text += std::to_string(name.size());
    text += ":";
    text += name;
  }
  return StableHash(text);
}

std::string StoreOwner(const RuntimeOptions& options) {
  const std::string id = options.id_from == IdFrom::kHeader ? "header " + options.id_header
                         : options.id_from == IdFrom::kKey  ? "key"
                                                            : "coordinates";
  return "group " + options.kafka.group + ", app " + options.app + ", namespace " +
         options.name_space + ", handler " + options.handler + ", recipe " +
         std::to_string(options.core.scope.recipe) + ", id from " + id + ", read_committed";
}

}  // namespace oncemq
