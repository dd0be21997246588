// SPDX-License-Identifier: Apache-2.0
#include "catalogue_target.h"

#include <cstdlib>

#include "oncemq/framework/store_file.h"

namespace oncemq {
namespace {

Error CatalogueRefused(const char* why) {
  return {Code::kInvalid, Effect::kNone, why};
}

}  // namespace

std::string Said(const std::string& argument, const char* variable) {
  const char* from_environment = std::getenv(variable);
  return !argument.empty() ? argument : from_environment != nullptr ? from_environment : "";
}

bool SaysCatalogue(const CatalogueArguments& arguments) {
  return !arguments.file.empty() || !arguments.application.empty() || !arguments.scope.empty() ||
         !arguments.secret_file.empty();
}

bool NamesCatalogue(const CatalogueArguments& arguments) {
  return !Said(arguments.file, "ONCEMQ_CATALOGUE").empty();
}

Result<StoreCatalogue> CatalogueOf(const CatalogueArguments& arguments) {
  const std::string file = Said(arguments.file, "ONCEMQ_CATALOGUE");
  if (file.empty()) {
    return CatalogueRefused(
        "which catalogue of stores? Say --catalogue FILE, or set ONCEMQ_CATALOGUE");
  }
  return LoadStores(file);
}

Result<StoreIdentity> IdentityOf(const CatalogueArguments& arguments) {
  StoreIdentity who{Said(arguments.application, "ONCEMQ_APPLICATION"), ""};
  if (who.application.empty()) {
    return CatalogueRefused("which application? Say --application NAME, or set ONCEMQ_APPLICATION");
  }
  const std::string file = Said(arguments.secret_file, "ONCEMQ_SECRET_FILE");
  if (!file.empty()) {
    auto secret = ProcessSources().secret_file(file);
    if (!secret) {
      return secret.error();
    }
    who.secret = *std::move(secret);
  } else {
    who.secret = Said("", "ONCEMQ_SECRET");
  }
  if (who.secret.empty()) {
    return CatalogueRefused(
        "an application proves itself: say --secret-file PATH, or set ONCEMQ_SECRET_FILE or "
        "ONCEMQ_SECRET");
  }
  return who;
}

}  // namespace oncemq
