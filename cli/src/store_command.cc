// SPDX-License-Identifier: Apache-2.0
#include "store_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "exit_code.h"
#include "lock_target.h"
#include "oncemq/clients/store_secret.h"
#include "oncemq/framework/store_file.h"
#include "oncemq/locks/catalogue_locks.h"
#include "oncemq/locks/lock_grants.h"
#include "safe_json.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

// As the other commands that read a file: what is wrong with it is one line each.
int FileRefused(const Error& error) {
  std::cerr << error.message << "\n";
  return kExitUsage;
}

ordered_json AsJson(const StorePlan& plan) {
  ordered_json json{{"locks", plan.locks}};
  json["record"] = plan.record.empty() ? ordered_json() : ordered_json(plan.record);
  return json;
}

std::string AsText(const StorePlan& plan) {
  std::string text;
  for (const std::string& store : plan.locks) {
    text.append(text.empty() ? "locks in " : ", then ").append(store);
  }
  return plan.record.empty() ? text : text + "; the record in " + plan.record;
}

// Of each application and each of its scopes.
template <class Visit>
void ForEachAccess(const StoreCatalogue& catalogue, const Visit& visit) {
  for (const auto& [name, application] : catalogue.applications) {
    visit(name, std::string(), *PlanOf(catalogue, application, ""));
    for (const auto& [scope, plan] : application.scopes) {
      visit(name, scope, *PlanOf(catalogue, application, scope));
    }
  }
}

// A new file that only its owner can read. Failure: kInvalid, also when it is there already.
Status WriteSecret(const std::string& path, const std::string& secret) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const std::string line = secret + "\n";
  const bool done =
      fd >= 0 && write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const std::string why = std::strerror(errno);
  if (fd >= 0) {
    close(fd);
  }
  return done ? Status() : Error{Code::kInvalid, Effect::kNone, path + ": " + why};
}

}  // namespace

int StoreCheckCommand(const StoreArguments& arguments) {
  const auto catalogue = CatalogueOf(arguments.from);
  if (!catalogue) {
    return FileRefused(catalogue.error());
  }
  ordered_json json{{"stores", ordered_json::array()}, {"access", ordered_json::array()}};
  for (const auto& [name, store] : catalogue->stores) {
    json["stores"].push_back(
        {{"name", name}, {"address", store.address}, {"anybody", store.anybody}});
    if (!arguments.json) {
      std::cout << name << ": " << SafeText(store.address)
                << (store.anybody ? "  (refuses nobody)" : "") << "\n";
    }
  }
  int code = kExitDone;
  ForEachAccess(*catalogue, [&](const auto& application, const auto& scope, const StorePlan& plan) {
    const std::string space = SpaceOf(application, scope);
    const auto can = CatalogueCapabilities(*catalogue, plan);
    ordered_json one{{"application", application}, {"scope", scope}, {"space", space}};
    one.update(AsJson(plan));
    if (!can) {
      one["error"] = can.error().message;
      std::cerr << space << ": " << can.error().message << "\n";
      code = kExitUsage;
    }
    json["access"].push_back(std::move(one));
    if (!arguments.json) {
      std::cout << application << (scope.empty() ? "" : ", scope " + scope) << ": " << AsText(plan)
                << "; space " << space << "\n";
    }
  });
  if (arguments.json) {
    std::cout << SafeJson(json) << "\n";
  }
  return code;
}

int StoreRegisterCommand(const StoreArguments& arguments) {
  const std::string& name = arguments.from.application;
  const std::string& path = arguments.from.secret_file;
  if (!IsApplicationName(name)) {
    std::cerr << "oncemq: an application is called by 1 to 31 of a-z 0-9 -, the first no -\n";
    return kExitUsage;
  }
  // A secret that is there is kept: whoever was registered elsewhere can be so here, too.
  if (access(path.c_str(), F_OK) != 0) {
    if (const Status written = WriteSecret(path, NewSecret()); !written) {
      return LockFailed(written.error());
    }
    std::cerr << "a new secret is in " << SafeText(path) << "\n";
  }
  const auto secret = ProcessSources().secret_file(path);
  const auto digest = secret ? DigestOfSecret(*secret) : secret.error();
  if (!digest) {
    return LockFailed(digest.error());
  }
  std::cerr << "under `applications:` of the catalogue stands then:\n";
  std::cout << "  " << name << ":\n    secret: " << *digest << "\n";
  return kExitDone;
}

int StoreGrantsCommand(const StoreArguments& arguments) {
  const auto catalogue = CatalogueOf(arguments.from);
  if (!catalogue) {
    return FileRefused(catalogue.error());
  }
  const auto who = IdentityOf(arguments.from);
  const auto grants = who ? LockGrants(*catalogue, *who) : who.error();
  if (!grants) {
    return LockFailed(grants.error());
  }
  bool found = arguments.store.empty();
  for (const StoreGrant& grant : *grants) {
    if (!arguments.store.empty() && grant.store != arguments.store) {
      continue;
    }
    found = true;
    if (arguments.json) {
      std::cout << SafeJson({{"store", grant.store},
                             {"address", grant.address},
                             {"reader", grant.reader},
                             {"statements", grant.statements}})
                << "\n";
      continue;
    }
    std::cerr << grant.store << ", " << SafeText(grant.address) << ": "
              << (grant.reader.empty() ? "knows no users, and refuses nobody"
                                       : "for " + grant.reader + ", as an administrator")
              << "\n";
    for (const std::string& line : grant.statements) {
      std::cout << line << "\n";
    }
  }
  if (!found) {
    std::cerr << "oncemq: the application keeps no locks in a store of this name\n";
    return kExitUsage;
  }
  return kExitDone;
}

}  // namespace oncemq
