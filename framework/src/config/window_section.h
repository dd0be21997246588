// SPDX-License-Identifier: Apache-2.0
// The section `window:` of a service file. Each engine has a reader; a key that another engine has
// is refused with the reason.
//
// Thread safety: none; lives inside one ParseService.
#pragma once

#include "oncemq/framework/service_options.h"
#include "section.h"

namespace oncemq {

void ReadWindow(Section window, ServiceOptions& options);

}  // namespace oncemq
