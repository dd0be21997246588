// SPDX-License-Identifier: Apache-2.0
#include "lock_spaces.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include "exit_code.h"
#include "lock_target.h"
#include "oncemq/base/bytes.h"
#include "oncemq/clients/store_access.h"
#include "oncemq/framework/service_file.h"
#include "oncemq/framework/store_file.h"
#include "safe_json.h"

namespace oncemq {
namespace {

using Spaces = std::vector<NamedSpace>;

Error RefusedSpaces(std::string why) {
  return {Code::kInvalid, Effect::kNone, std::move(why)};
}

Result<Spaces> SpacesOfFile(const std::string& path) {
  const auto catalogue = LoadStores(path);
  return catalogue ? Result<Spaces>(SpacesOfCatalogue(*catalogue)) : catalogue.error();
}

Result<Spaces> SpacesOfService(const std::string& config) {
  const auto options = LoadService(config);
  if (!options) {
    return options.error();
  }
  if (!options->locks.any()) {
    return RefusedSpaces(config + ": `locks` names no store, so there are no spaces");
  }
  return options->locks.catalogue.empty() ? Result<Spaces>(Spaces{{options->locks.space, "", ""}})
                                          : SpacesOfFile(options->locks.catalogue);
}

// The arguments ask for one application, so its names are meant.
bool SaysApplication(const CatalogueArguments& from) {
  return !from.scope.empty() || !from.secret_file.empty() ||
         !Said(from.application, "ONCEMQ_APPLICATION").empty();
}

nlohmann::ordered_json SpaceAsJson(const NamedSpace& space) {
  nlohmann::ordered_json json{{"space", space.space}};
  if (!space.application.empty()) {
    json["application"] = space.application;
    json["scope"] = space.scope;
  }
  return json;
}

std::string SpaceAsText(const NamedSpace& space) {
  if (space.application.empty()) {
    return "'" + SafeText(space.space) + "': of the service file\n";
  }
  return space.space + ": of the application " + space.application +
         (space.scope.empty() ? "" : ", scope " + space.scope) + "\n";
}

}  // namespace

Spaces SpacesOfCatalogue(const StoreCatalogue& catalogue) {
  Spaces spaces;
  for (const auto& [name, application] : catalogue.applications) {
    spaces.push_back({SpaceOf(name, ""), name, ""});
    for (const auto& [scope, plan] : application.scopes) {
      spaces.push_back({SpaceOf(name, scope), name, scope});
    }
  }
  std::sort(spaces.begin(), spaces.end(),
            [](const NamedSpace& one, const NamedSpace& other) { return one.space < other.space; });
  return spaces;
}

Result<std::optional<Spaces>> NamedSpaces(const LockArguments& arguments) {
  const auto found = [](Result<Spaces> spaces) {
    return spaces ? Result<std::optional<Spaces>>(*std::move(spaces)) : spaces.error();
  };
  if (!arguments.config.empty()) {
    return found(SpacesOfService(arguments.config));
  }
  const auto by_name = LocksByCatalogue(arguments);
  if (!by_name) {
    return by_name.error();
  }
  if (!*by_name || SaysApplication(arguments.from) || !NamesCatalogue(arguments.from)) {
    return std::optional<Spaces>();
  }
  const auto catalogue = CatalogueOf(arguments.from);
  return catalogue ? found(SpacesOfCatalogue(*catalogue)) : catalogue.error();
}

int PrintSpaces(const Spaces& spaces, std::string_view after, const LockArguments& arguments) {
  uint64_t printed = 0;
  for (const NamedSpace& space : spaces) {
    if (!after.empty() && space.space <= after) {
      continue;
    }
    if (printed == arguments.limit) {
      std::cerr << "there are more: --limit N, or --hex --after of the last one\n";
      break;
    }
    std::cout << (arguments.json ? SafeJson(SpaceAsJson(space)) + "\n" : SpaceAsText(space));
    printed++;
  }
  std::cerr << "to list the names of a space, say --space with --at; or --application and "
               "--secret-file, for a scope also --scope, with --catalogue\n";
  return kExitDone;
}

std::string HintOfSpaces(const LockArguments& arguments) {
  const auto by_name = LocksByCatalogue(arguments);
  const bool said = arguments.space_said || !by_name || *by_name;
  return said ? ""
              : "a store does not list its spaces: say --space; or -c or --catalogue, for those "
                "that a file names\n";
}

}  // namespace oncemq
