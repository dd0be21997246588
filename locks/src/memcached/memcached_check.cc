// SPDX-License-Identifier: Apache-2.0
#include "memcached_check.h"

#include <algorithm>

#include "oncemq/base/bytes.h"

namespace oncemq {

Error MemcachedCannot(const std::string& what) {
  return {Code::kInvalid, Effect::kNone, "the engine memcached " + what};
}

Status CheckMemcachedForLocks(MemcachedClient& client, bool may_evict) {
  const auto version = client.Version();
  if (!version) {
    return version.error();
  }
  const auto settings = client.Settings();
  if (!settings) {
    return settings.error();
  }
  const std::string_view text = *version;
  const auto major = ParseDecimal(text.substr(0, text.find('.')));
  const std::string_view behind = text.substr(std::min(text.find('.'), text.size() - 1) + 1);
  const auto minor = ParseDecimal(behind.substr(0, behind.find('.')));
  if (!major || !minor || *major < 1 || (*major == 1 && *minor < 6)) {
    return MemcachedCannot("needs version 1.6 or newer, this is " + *version);
  }
  const auto is = [&](const char* name, const char* value) {
    const auto at = settings->find(name);
    return at != settings->end() && at->second == value;
  };
  if (!is("cas_enabled", "yes")) {
    return MemcachedCannot("needs a server with versions (started without -C)");
  }
  if (!is("evictions", "off") && !may_evict) {
    return MemcachedCannot(
        "needs a server that evicts nothing that is held: started with -M, or allowed by "
        "?evicts=allowed in its address");
  }
  return {};
}

}  // namespace oncemq
