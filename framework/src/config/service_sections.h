// SPDX-License-Identifier: Apache-2.0
// The keys of a service file: each section of it into its options.
//
// Thread safety: none; lives inside one ParseService.
#pragma once

#include "oncemq/framework/service_options.h"
#include "section.h"

namespace oncemq {

// Reads the whole file. What is wrong with single values goes into the section's findings.
void ReadService(Section& file, ServiceOptions& options);

void ReadAdmin(Section admin, AdminOptions& options);

}  // namespace oncemq
