// SPDX-License-Identifier: Apache-2.0
// A catalogue of stores from anybody: any bytes give one or an error; one that was accepted has no
// faults, and no two of its applications' scopes share a space or an address with a user in it.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "oncemq/base/check.h"
#include "oncemq/clients/store_access.h"
#include "oncemq/framework/store_file.h"

namespace {

using namespace oncemq;

ConfigSources Sources() {
  return {[](const std::string& name) -> std::optional<std::string> {
            return name.size() % 2 == 0 ? std::optional<std::string>("42") : std::nullopt;
          },
          [](const std::string&) -> Result<std::string> { return std::string("secret"); }};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string yaml(reinterpret_cast<const char*>(data), size);
  const auto catalogue = ParseStores(yaml, "stores.yaml", Sources());
  if (!catalogue) {
    ONCEMQ_CHECK(!catalogue.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  ONCEMQ_CHECK(FaultsOf(*catalogue).empty(), "what is accepted keeps the rules");
  std::set<std::string> spaces;
  for (const auto& [name, application] : catalogue->applications) {
    ONCEMQ_CHECK(PlanOf(*catalogue, application, "") != nullptr, "everybody has stores");
    ONCEMQ_CHECK(spaces.insert(SpaceOf(name, "")).second, "a space is one application's");
    for (const auto& [scope, plan] : application.scopes) {
      ONCEMQ_CHECK(spaces.insert(SpaceOf(name, scope)).second, "and one scope's");
    }
  }
  for (const auto& [name, store] : catalogue->stores) {
    const std::string address = AddressFor(store, name, {"a", "a secret of somebody"});
    ONCEMQ_CHECK(store.anybody == (address == store.address), "nobody is sent without a name");
  }
  return 0;
}
