// SPDX-License-Identifier: Apache-2.0
// For servers that refuse to run as root, in tests that do: another user, and what is given to it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace oncemq::testing {

// Why it can't be done; nothing when it can, or need not.
std::optional<std::string> MissingForPlainUser();
// The command as that user runs it; unchanged where we are no root. It dies with its parent.
std::vector<std::string> AsPlainUser(std::vector<std::string> command);
// Throws std::runtime_error.
void GiveToPlainUser(const std::filesystem::path& path);

}  // namespace oncemq::testing
