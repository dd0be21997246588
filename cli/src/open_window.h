// SPDX-License-Identifier: Apache-2.0
// Opens the window that a service's options name, if this build has its engine.
#pragma once

#include <memory>

#include "oncemq/dedup/window.h"
#include "oncemq/framework/service_options.h"

namespace oncemq {

// nullptr: the options want no window.
Result<std::unique_ptr<Window>> OpenServiceWindow(const ServiceOptions& options);

}  // namespace oncemq
