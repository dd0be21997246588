// SPDX-License-Identifier: Apache-2.0
// `oncemq store ...`: the contents of a catalogue, registering an application, the
// commands that tell stores of it, and the tables of a window in PostgreSQL.
#pragma once

#include <string>

#include "catalogue_target.h"

namespace oncemq {

struct StoreArguments {
  CatalogueArguments from;
  std::string store;  // of grants: this one alone
  bool json = false;
};

// Of migrate: a service file, or an address and a schema.
struct MigrateArguments {
  std::string config;
  std::string at;      // empty: the address in ONCEMQ_WINDOW
  std::string schema;  // empty: the default of a service file
  bool print = false;  // the statements only: no database is asked
};

int StoreCheckCommand(const StoreArguments& arguments);
int StoreRegisterCommand(const StoreArguments& arguments);
int StoreGrantsCommand(const StoreArguments& arguments);
int StoreMigrateCommand(const MigrateArguments& arguments);

}  // namespace oncemq
