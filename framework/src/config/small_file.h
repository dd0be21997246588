// SPDX-License-Identifier: Apache-2.0
// Reads a small file whole.
//
// Thread safety: any thread. Blocks: as long as the file system does.
#pragma once

#include <cstddef>
#include <string>

#include "oncemq/base/result.h"

namespace oncemq {

// kOwnerOnly refuses what others may read or change, and what is no ordinary file.
enum class Readers : unsigned char { kAnybody, kOwnerOnly };

// kNotFound, or kInvalid with the reason. The text does not repeat the path.
Result<std::string> ReadSmallFile(const std::string& path, size_t most, Readers readers);

}  // namespace oncemq
