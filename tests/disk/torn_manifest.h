// SPDX-License-Identifier: Apache-2.0
// The one stop that a loss of power may end in: docs/operations.md, A torn MANIFEST. RocksDB takes
// a record of which a later sector has arrived and an earlier one has not for damage, and not for
// its end. Only what was not synced can be torn.
#pragma once

#include <string>

#include "oncemq/base/result.h"
#include "support/power/power_loss.h"

namespace oncemq::testing {

inline bool IsTornManifest(const Error& error, Keep keep) {
  return keep != Keep::kSynced && error.code == Code::kCorrupt &&
         error.message.find("MANIFEST-") != std::string::npos;
}

}  // namespace oncemq::testing
