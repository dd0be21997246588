// SPDX-License-Identifier: Apache-2.0
// Replaces `${NAME}`, `${NAME:default}` and `${file:/path}` in one value. "$${" stands for "${".
// Pure, but for what the sources do.
#pragma once

#include <string>
#include <string_view>

#include "oncemq/base/result.h"
#include "oncemq/framework/service_file.h"

namespace oncemq {

// Whether `${file:...}` may stand in the value: only where the value is never printed.
enum class SecretPlace : unsigned char { kNo, kYes };

// kInvalid says which variable or file is missing or wrong, and never a value.
Result<std::string> ExpandValue(std::string_view text, const ConfigSources& sources,
                                SecretPlace place);

// Whether a part of it is the content of a file, which may change.
bool HoldsFile(std::string_view text);

// Reads a file that holds one secret; one line feed at its end is not part of it. Refused: a file
// that others may read or write, that is not an ordinary file, or that is larger than 64 KiB.
Result<std::string> ReadSecretFile(const std::string& path);

}  // namespace oncemq
