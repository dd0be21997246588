// SPDX-License-Identifier: Apache-2.0
// One file of YAML, as far as every file of ours is read the same way: bounded, one document, no
// aliases, and whatever goes wrong is a finding.
//
// Thread safety: any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "oncemq/framework/service_file.h"
#include "section.h"

namespace oncemq {

inline constexpr size_t kLongestFile = 256 * 1024;

// `read` is called with the whole file, if it can be read at all.
void ReadDocument(std::string_view yaml, const ConfigSources& sources, Findings& findings,
                  const std::function<void(Section& file)>& read);

}  // namespace oncemq
