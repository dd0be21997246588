// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/store_file.h"

#include "document.h"
#include "small_file.h"

namespace oncemq {
namespace {

// A section says a plan as a whole, or none.
std::optional<StorePlan> ReadPlan(Section& section) {
  if (!section.Has("locks") && !section.Has("record")) {
    section.Pass("locks");
    section.Pass("record");
    return std::nullopt;
  }
  StorePlan plan;
  section.Require("locks", "the stores that keep them, the main one first");
  section.Texts("locks", plan.locks);
  section.Text("record", plan.record);
  return plan;
}

NamedStore ReadStore(Section section) {
  NamedStore store;
  section.Require("address", "where the store is");
  section.Text("address", store.address);
  section.Choice("anybody", store.anybody, kYesNo);
  section.Finish();
  return store;
}

StoreApplication ReadApplication(Section section) {
  StoreApplication application;
  section.Require("secret", "the digest that `oncemq store register` prints");
  section.Text("secret", application.secret);
  application.plan = ReadPlan(section);
  Section scopes = section.Sub("scopes");
  for (const std::string_view name : scopes.Names()) {
    Section scope = scopes.Sub(name);
    application.scopes[std::string(name)] = ReadPlan(scope);
    scope.Finish();
  }
  section.Finish();
  return application;
}

StoreCatalogue ReadCatalogue(Section& file) {
  StoreCatalogue catalogue;
  file.Require("stores", "what stores there are, by name");
  file.Require("applications", "who may use them");
  Section stores = file.Sub("stores");
  for (const std::string_view name : stores.Names()) {
    catalogue.stores[std::string(name)] = ReadStore(stores.Sub(name));
  }
  if (file.Has("default")) {
    Section plan = file.Sub("default");
    plan.Require("locks", "the stores that keep them, the main one first");
    catalogue.plan = ReadPlan(plan);
    plan.Finish();
  }
  file.Pass("default");
  Section applications = file.Sub("applications");
  for (const std::string_view name : applications.Names()) {
    catalogue.applications[std::string(name)] = ReadApplication(applications.Sub(name));
  }
  file.Finish();
  return catalogue;
}

}  // namespace

Result<StoreCatalogue> ParseStores(std::string_view yaml, std::string_view file_name,
                                   const ConfigSources& sources) {
  Findings findings(file_name);
  StoreCatalogue catalogue;
  ReadDocument(yaml, sources, findings, [&](Section& file) { catalogue = ReadCatalogue(file); });
  if (findings.empty()) {
    for (const CatalogueFault& fault : FaultsOf(catalogue)) {
      findings.AddAt(fault.path, fault.text);
    }
  }
  if (!findings.empty()) {
    return findings.ToError();
  }
  return catalogue;
}

Result<StoreCatalogue> LoadStores(const std::string& path) {
  const Result<std::string> yaml = ReadSmallFile(path, kLongestFile, Readers::kAnybody);
  if (!yaml) {
    return Error{yaml.error().code, Effect::kNone, path + ": " + yaml.error().message};
  }
  return ParseStores(*yaml, path);
}

}  // namespace oncemq
