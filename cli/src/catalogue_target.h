// SPDX-License-Identifier: Apache-2.0
// A catalogue of stores, and who asks there: of the arguments, else of the environment. A secret is
// never an argument: everybody on a host can read those.
#pragma once

#include <string>

#include "oncemq/base/result.h"
#include "oncemq/clients/store_access.h"

namespace oncemq {

struct CatalogueArguments {
  std::string file;         // empty: what ONCEMQ_CATALOGUE says
  std::string application;  // empty: what ONCEMQ_APPLICATION says
  std::string scope;
  std::string secret_file;  // empty: what ONCEMQ_SECRET_FILE says, or the secret in ONCEMQ_SECRET
};

// The argument, else what the environment says; empty: neither.
std::string Said(const std::string& argument, const char* variable);
// Whether any of them is said.
bool SaysCatalogue(const CatalogueArguments& arguments);
// Whether they, or the environment, name a catalogue.
bool NamesCatalogue(const CatalogueArguments& arguments);
Result<StoreCatalogue> CatalogueOf(const CatalogueArguments& arguments);
Result<StoreIdentity> IdentityOf(const CatalogueArguments& arguments);

}  // namespace oncemq
