// SPDX-License-Identifier: Apache-2.0
// A service file from anybody: any bytes give options or an error, and options that were accepted
// can be printed and read again.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "oncemq/base/check.h"
#include "oncemq/framework/service_file.h"

namespace {

using namespace oncemq;

ConfigSources Sources() {
  return {[](const std::string& name) -> std::optional<std::string> {
            return name.size() % 2 == 0 ? std::optional<std::string>("42") : std::nullopt;
          },
          [](const std::string& path) -> Result<std::string> {
            if (path.empty()) {
              return Error{Code::kInvalid, Effect::kNone, "no file"};
            }
            return std::string("secret");
          }};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string yaml(reinterpret_cast<const char*>(data), size);
  const auto options = ParseService(yaml, "service.yaml", Sources());
  if (!options) {
    ONCEMQ_CHECK(!options.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  ONCEMQ_CHECK(CheckService(*options).has_value(), "what is accepted keeps the rules");
  ONCEMQ_CHECK(!ExplainGuarantee(*options).empty(), "every accepted file has a guarantee");
  const std::string text = Describe(*options);
  const auto again = ParseService(text, "described", Sources());
  ONCEMQ_CHECK(again.has_value(), "what is printed can be read again");
  ONCEMQ_CHECK(Describe(*again) == text, "and means the same");
  return 0;
}
