// SPDX-License-Identifier: Apache-2.0
// Reads a catalogue of stores from a YAML file (docs/stores.md shows every key).
//
// Promise: as strict as a service file is (service_file.h), with the same `${...}`, and every
// mistake told with line and column. What is accepted has no faults (FaultsOf). No address and no
// digest is repeated in an error.
//
// Thread safety: any thread.
#pragma once

#include <string>
#include <string_view>

#include "oncemq/base/result.h"
#include "oncemq/clients/store_catalogue.h"
#include "oncemq/framework/service_file.h"

namespace oncemq {

// All errors are kInvalid.
Result<StoreCatalogue> ParseStores(std::string_view yaml, std::string_view file_name,
                                   const ConfigSources& sources = ProcessSources());

// kNotFound when there is no such file.
Result<StoreCatalogue> LoadStores(const std::string& path);

}  // namespace oncemq
