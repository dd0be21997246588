// SPDX-License-Identifier: Apache-2.0
// `oncemq lock ls` without a space: the spaces that a service file or a catalogue names. A store
// keeps names, and no list of their spaces.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lock_command.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/store_catalogue.h"

namespace oncemq {

struct NamedSpace {
  std::string space;
  std::string application;  // of a catalogue; empty: the service file names an address and a space
  std::string scope;        // of the application; empty: the application itself
};

// In the order of their bytes.
std::vector<NamedSpace> SpacesOfCatalogue(const StoreCatalogue& catalogue);

// Nothing: the arguments name one space, so its names are meant. No store is asked, and nobody has
// to prove itself: a catalogue is a file that its reader can read anyway.
Result<std::optional<std::vector<NamedSpace>>> NamedSpaces(const LockArguments& arguments);

// Prints those after `after`, at most `arguments.limit`; the exit code.
int PrintSpaces(const std::vector<NamedSpace>& spaces, std::string_view after,
                const LockArguments& arguments);

// For a space without names, where no space was said: a line, or nothing.
std::string HintOfSpaces(const LockArguments& arguments);

}  // namespace oncemq
