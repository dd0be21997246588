// SPDX-License-Identifier: Apache-2.0
// `oncemq store ...`: what a catalogue says, registering an application, and what stores have to be
// told of it.
#pragma once

#include <string>

#include "catalogue_place.h"

namespace oncemq {

struct StoreArguments {
  CatalogueArguments from;
  std::string store;  // of grants: this one alone
  bool json = false;
};

int StoreCheckCommand(const StoreArguments& arguments);
int StoreRegisterCommand(const StoreArguments& arguments);
int StoreGrantsCommand(const StoreArguments& arguments);

}  // namespace oncemq
