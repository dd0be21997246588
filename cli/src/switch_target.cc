// SPDX-License-Identifier: Apache-2.0
#include "switch_target.h"

#include <sstream>
#include <utility>

#include "lock_target.h"
#include "oncemq/locks/switch_stores.h"

namespace oncemq {
namespace {

Error Invalid(std::string why) {
  return {Code::kInvalid, Effect::kNone, std::move(why)};
}

// NAME=ADDRESS, of the arguments or, with blanks between, of ONCEMQ_STORES.
Result<std::vector<NamedLocks>> SwitchedStoresOf(const LockArguments& arguments) {
  std::vector<std::string> words = arguments.stores;
  for (const std::string& word : words) {
    if (const Status fit = NoPasswordIn(word, "ONCEMQ_STORES"); !fit) {
      return fit.error();
    }
  }
  if (words.empty()) {
    std::istringstream text(Said("", "ONCEMQ_STORES"));
    for (std::string word; text >> word;) {
      words.push_back(word);
    }
  }
  std::vector<NamedLocks> stores;
  for (const std::string& word : words) {
    const size_t at = word.find('=');
    const std::string name = word.substr(0, at);
    if (at == std::string::npos || !IsStoreName(name)) {
      return Invalid("a store is said as NAME=ADDRESS");
    }
    const std::string address = word.substr(at + 1);
    if (const Status seen = SeenByOthers(address); !seen) {
      return seen.error();
    }
    auto named = NamedLocksAt(name, address, arguments.space);
    if (!named) {
      return named.error();
    }
    stores.push_back(*std::move(named));
  }
  if (stores.empty()) {
    return Invalid("which stores? Say --store NAME=ADDRESS, or set ONCEMQ_STORES");
  }
  return stores;
}

Result<SwitchedPlan> ByAddress(const LockArguments& arguments) {
  if (!arguments.space_said) {
    return Invalid(
        "whose names? Say --space as the services do ('' if they say none): a switch seals it");
  }
  auto stores = SwitchedStoresOf(arguments);
  if (!stores) {
    return stores.error();
  }
  if (const Status fit = NoPasswordIn(arguments.record, "ONCEMQ_RECORD"); !fit) {
    return fit.error();
  }
  auto record = OpenSwitchStore(Said(arguments.record, "ONCEMQ_RECORD"), arguments.board);
  if (!record) {
    return record.error();
  }
  return SwitchedPlan{*std::move(stores), *std::move(record)};
}

}  // namespace

Result<SwitchedPlan> SwitchTargetOf(const LockArguments& arguments) {
  const bool said = !arguments.stores.empty() || !arguments.record.empty() ||
                    arguments.space_said || arguments.board_said;
  const auto by_name = ByCatalogue(arguments.from, said, "ONCEMQ_STORES");
  if (!by_name) {
    return by_name.error();
  }
  if (!*by_name) {
    return ByAddress(arguments);
  }
  const auto access = AccessOf(arguments.from);
  return access ? OpenSwitchedPlan(*access) : access.error();
}

}  // namespace oncemq
