// SPDX-License-Identifier: Apache-2.0
#include "handlers.h"

#include <cstdio>
#include <string>
#include <utility>

#include "oncemq/base/bytes.h"
#include "safe_json.h"
#include "service_commands.h"

namespace oncemq {

std::string PrintedLine(std::string_view id, std::string_view topic, int32_t partition,
                        int64_t offset, bool uncertain) {
  nlohmann::ordered_json line;
  if (IsPlainText(id)) {
    line["id"] = id;
  } else {
    line["id_hex"] = HexOfBytes(id);
  }
  line["topic"] = topic;
  line["partition"] = partition;
  line["offset"] = offset;
  if (uncertain) {
    line["uncertain"] = true;
  }
  return SafeJson(line) + "\n";
}

Handler PrintHandler(std::function<void()> on_closed) {
  return [on_closed = std::move(on_closed)](const Message& message, Context& context) -> Outcome {
    const std::string text = PrintedLine(context.id(), message.topic(), message.partition(),
                                         message.offset(), context.uncertain());
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
