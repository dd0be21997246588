// SPDX-License-Identifier: Apache-2.0
#include "lock_target.h"

#include <cstdlib>
#include <iostream>
#include <utility>

#include "exit_code.h"
#include "oncemq/base/outage.h"
#include "oncemq/locks/catalogue_locks.h"
#include "oncemq/locks/lock_engines.h"
#include "safe_json.h"
#include "switch_target.h"

namespace oncemq {
namespace {

Error RefusedTarget(std::string why) {
  return {Code::kInvalid, Effect::kNone, std::move(why)};
}

bool SaysRecord(const LockArguments& arguments) {
  return !arguments.record.empty() || !arguments.stores.empty() || arguments.board_said;
}

Result<std::shared_ptr<LockEngine>> OpenByRecord(const LockArguments& arguments) {
  auto plan = SwitchTargetOf(arguments);
  auto opened = plan ? OpenBegun(*std::move(plan), WithoutVote()) : plan.error();
  return opened ? Result<std::shared_ptr<LockEngine>>(*std::move(opened)) : opened.error();
}

}  // namespace

int LockFailed(const Error& error) {
  std::cerr << "oncemq: " << SafeText(ToString(error)) << "\n";
  return IsMisconfigured(error) ? kExitUsage : IsTransient(error) ? kExitNoService : kExitFailed;
}

Status NoPasswordIn(std::string_view address, std::string_view variable) {
  const size_t scheme = address.find("://");
  const size_t user = scheme == std::string_view::npos ? 0 : scheme + 3;
  const size_t at = address.rfind('@');
  const bool has_user = at != std::string_view::npos && at > user;
  if (!has_user || address.substr(user, at - user).find(':') == std::string_view::npos) {
    return {};
  }
  return RefusedTarget("an address with a password in it belongs into the environment, as " +
                       std::string(variable));
}

Status SeenByOthers(std::string_view address) {
  return address == "memory:"
             ? Status(RefusedTarget("locks in memory can be seen by their own process only"))
             : Status();
}

Result<bool> ByCatalogue(const CatalogueArguments& from, bool addresses, const char* variable) {
  if (SaysCatalogue(from) && addresses) {
    return RefusedTarget(
        "a catalogue says addresses and spaces by itself: beside --catalogue, --application, "
        "--scope and --secret-file there is no --at, --record, --store, --space, --name or "
        "--switchboard");
  }
  return SaysCatalogue(from) ||
         (!addresses && std::getenv(variable) == nullptr && NamesCatalogue(from));
}

Result<StoreAccess> AccessOf(const CatalogueArguments& from) {
  const auto catalogue = CatalogueOf(from);
  const auto who = catalogue ? IdentityOf(from) : catalogue.error();
  auto access = who ? Authorise(*catalogue, *who, from.scope) : who.error();
  if (!access) {
    return access;
  }
  for (const GrantedStore& store : access->locks) {
    if (const Status seen = SeenByOthers(store.address); !seen) {
      return seen.error();
    }
  }
  return access;
}

Result<bool> LocksByCatalogue(const LockArguments& arguments) {
  return ByCatalogue(arguments.from,
                     !arguments.at.empty() || arguments.space_said || SaysRecord(arguments),
                     "ONCEMQ_LOCKS");
}

Result<std::shared_ptr<LockEngine>> OpenLocksOf(const LockArguments& arguments) {
  if (const Status fit = NoPasswordIn(arguments.at, "ONCEMQ_LOCKS"); !fit) {
    return fit.error();
  }
  const auto by_name = LocksByCatalogue(arguments);
  if (!by_name) {
    return by_name.error();
  }
  if (*by_name) {
    const auto access = AccessOf(arguments.from);
    return access ? OpenGrantedLocks(*access, WithoutVote(), true) : access.error();
  }
  const std::string at = Said(arguments.at, "ONCEMQ_LOCKS");
  if (SaysRecord(arguments) || (at.empty() && std::getenv("ONCEMQ_RECORD") != nullptr)) {
    return OpenByRecord(arguments);
  }
  if (at.empty()) {
    return RefusedTarget(
        "where are the locks? Say --at redis://host:port, --record with --store, or --catalogue "
        "FILE; or set ONCEMQ_LOCKS");
  }
  if (const Status seen = SeenByOthers(at); !seen) {
    return seen.error();
  }
  return OpenLockEngine(at, arguments.space);
}

SwitchboardOptions WithoutVote() {
  SwitchboardOptions options;
  options.automatic = false;
  return options;
}

}  // namespace oncemq
