// SPDX-License-Identifier: Apache-2.0
// The window of a service, opened by a command.
//
// Thread safety: any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "oncemq/base/result.h"
#include "oncemq/dedup/window.h"
#include "oncemq/framework/service_options.h"

namespace oncemq {

// A WindowOpener (run_service.h) for each engine of this build.
Result<std::unique_ptr<Window>> OpenCommandWindow(const ServiceOptions& options);

// The options in the file `config`, of a service whose window is in a server: other processes reach
// it. kInvalid: the file is refused, or another engine; then the message ends with `or_else`.
Result<ServiceOptions> LoadServerWindow(const std::string& config, std::string_view or_else);

// The window in a server as the service would open it, but nothing is made there. kNotFound: no
// service has opened it yet. An answer may take as long as the service lets it, and at least
// `at_least`.
Result<std::unique_ptr<Window>> OpenToCheck(ServiceOptions options, milliseconds at_least = {});

// The same to look into it, also by a role that may only read.
Result<std::unique_ptr<Window>> OpenToRead(ServiceOptions options, milliseconds at_least);

}  // namespace oncemq
