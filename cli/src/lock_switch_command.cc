// SPDX-License-Identifier: Apache-2.0
// `oncemq lock switch`: where a switch stands, and how one begins or is called off.
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "exit_code.h"
#include "lock_place.h"
#include "oncemq/locks/catalogue_locks.h"
#include "oncemq/locks/switch_stores.h"
#include "oncemq/locks/switched_locks.h"
#include "safe_json.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

Error Invalid(std::string why) {
  return {Code::kInvalid, Effect::kNone, std::move(why)};
}

// NAME=ADDRESS, of the arguments or, with blanks between, of ONCEMQ_STORES.
Result<std::vector<NamedLocks>> StoresOf(const LockArguments& arguments) {
  std::vector<std::string> words = arguments.stores;
  for (const std::string& word : words) {
    if (HasPassword(word)) {
      return Invalid(
          "an address with a password in it belongs into the environment: ONCEMQ_STORES");
    }
  }
  if (const char* from_environment = std::getenv("ONCEMQ_STORES");
      words.empty() && from_environment != nullptr) {
    std::istringstream text(from_environment);
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
    auto named = NamedLocksAt(name, word.substr(at + 1), arguments.space);
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

Result<std::shared_ptr<SwitchedLocks>> OpenByCatalogue(const CatalogueArguments& from) {
  const auto catalogue = CatalogueOf(from);
  const auto who = catalogue ? IdentityOf(from) : catalogue.error();
  if (!who) {
    return who.error();
  }
  return OpenCatalogueSwitch(*catalogue, *who, from.scope, WithoutVote(), true);
}

Result<std::shared_ptr<SwitchedLocks>> OpenSwitched(const LockArguments& arguments) {
  const bool said = !arguments.stores.empty() || !arguments.record.empty() ||
                    !arguments.space.empty() || std::getenv("ONCEMQ_STORES") != nullptr;
  if (!arguments.from.file.empty() || (!said && NamesCatalogue(arguments.from))) {
    return OpenByCatalogue(arguments.from);
  }
  if (!arguments.space_said) {
    return Invalid(
        "whose names? Say --space as the services do ('' if they say none): a switch seals it");
  }
  auto stores = StoresOf(arguments);
  if (!stores) {
    return stores.error();
  }
  if (HasPassword(arguments.record)) {
    return Invalid("an address with a password in it belongs into the environment: ONCEMQ_RECORD");
  }
  const char* from_environment = std::getenv("ONCEMQ_RECORD");
  const auto record = OpenSwitchStore(!arguments.record.empty()     ? arguments.record
                                      : from_environment != nullptr ? from_environment
                                                                    : "");
  if (!record) {
    return record.error();
  }
  const auto text = (*record)->Read();
  if (!text) {
    return text.error();
  }
  // The services write the first one; a command that did it might name the wrong main store.
  if (text->text.empty() && arguments.first_epoch == 0) {
    return Invalid(
        "there is no switch record yet; the first service writes it. One that was lost is begun "
        "again with --first-epoch");
  }
  SwitchboardOptions options = WithoutVote();
  options.first_epoch = arguments.first_epoch;
  return SwitchedLocks::Open(*std::move(stores), *record, options);
}

void Print(const LockSwitch& told, bool json) {
  ordered_json out{{"in_force", told.in_force},     {"target", told.target},
                   {"phase", ToString(told.phase)}, {"epoch", told.epoch},
                   {"holds_left", nullptr},         {"left_ms", nullptr}};
  if (told.holds_left) {
    out["holds_left"] = *told.holds_left;
  }
  if (told.left) {
    out["left_ms"] = told.left->count();
  }
  if (json) {
    std::cout << SafeJson(out) << "\n";
    return;
  }
  std::cout << told.in_force << " is in force, epoch " << told.epoch;
  if (told.phase != SwitchMode::kSingle) {
    std::cout << "; switching to " << told.target << " ("
              << (told.phase == SwitchMode::kBoth ? "planned: both grant"
                                                  : "drained: nothing is granted but to the fenced")
              << ")";
  }
  if (told.holds_left) {
    std::cout << ", " << *told.holds_left << " holds have not moved yet";
  }
  if (told.left) {
    std::cout << ", " << told.left->count() << " ms left at most, counted from this look";
  }
  std::cout << "\n";
}

}  // namespace

int LockSwitchCommand(const LockArguments& arguments) {
  const bool to = !arguments.name.empty();
  if (static_cast<int>(to) + static_cast<int>(arguments.next) +
          static_cast<int>(arguments.call_off) >
      1) {
    std::cerr << "oncemq: a store, --next or --call-off, one of them\n";
    return kExitUsage;
  }
  if (arguments.planned_only && !to && !arguments.next) {
    std::cerr << "oncemq: --planned-only is said with the store to switch to, or with --next\n";
    return kExitUsage;
  }
  const auto locks = OpenSwitched(arguments);
  if (!locks) {
    return LockFailed(locks.error());
  }
  if (!to && !arguments.next && !arguments.call_off) {
    Print((*locks)->Progress(), arguments.json);
    return kExitDone;
  }
  const auto unless = arguments.planned_only ? UnlessPlanned::kRefuse : UnlessPlanned::kDrain;
  const auto told = to               ? (*locks)->SwitchEngine(arguments.name, arguments.why, unless)
                    : arguments.next ? (*locks)->SwitchEngine(arguments.why, unless)
                                     : (*locks)->CallOff(arguments.why);
  AuditLocks("lock switch",
             to               ? arguments.name
             : arguments.next ? "next"
                              : "call off",
             "", told ? "epoch " + std::to_string(told->epoch) : ToString(told.error()));
  if (!told) {
    return LockFailed(told.error());
  }
  Print(*told, arguments.json);
  return kExitDone;
}

}  // namespace oncemq
