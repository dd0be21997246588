// SPDX-License-Identifier: Apache-2.0
#include "handlers.h"

#include <cstdio>
#include <string>
#include <utility>

#include "safe_json.h"

namespace oncemq {

Handler PrintHandler(std::function<void()> on_closed) {
  return [on_closed = std::move(on_closed)](const Message& message, Context& context) -> Outcome {
    const nlohmann::ordered_json line{{"id", context.id()},
                                      {"topic", message.topic()},
                                      {"partition", message.partition()},
                                      {"offset", message.offset()}};
    const std::string text = SafeJson(line) + "\n";
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (!written || std::fflush(stdout) != 0) {
      on_closed();
      return Retry{.not_done = true};
    }
    return Done{};
  };
}

Handler CountHandler() {
  return [](const Message&, Context&) -> Outcome { return Done{}; };
}

}  // namespace oncemq
