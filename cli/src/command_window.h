// SPDX-License-Identifier: Apache-2.0
// The window of a service, opened by a command.
//
// Thread safety: any thread.
#pragma once

#include <memory>

#include "oncemq/base/result.h"
#include "oncemq/dedup/window.h"
#include "oncemq/framework/service_options.h"

namespace oncemq {

// A WindowOpener (run_service.h): OpenPostgresServiceWindow(), or in a build without PostgreSQL
// OpenServiceWindow().
Result<std::unique_ptr<Window>> OpenCommandWindow(const ServiceOptions& options);

// The window in a database as the service would open it, but nothing is made there. kNotFound: no
// service has opened it yet.
Result<std::unique_ptr<Window>> OpenToCheck(ServiceOptions options);

// The same to look into it, also by a role that may only read. `call`: the longest time for one
// answer.
Result<std::unique_ptr<Window>> OpenForLook(ServiceOptions options, milliseconds call);

}  // namespace oncemq
