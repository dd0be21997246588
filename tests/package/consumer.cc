// SPDX-License-Identifier: Apache-2.0
// A stranger's consumer, as far as it goes without a broker: what can't keep its promise is refused
// with the reason, and what can is opened.
#include <cstdio>
#include <string>

#include "oncemq/dedup/memory_window.h"
#include "oncemq/framework/runtime.h"

int main() {
  const auto window =
      oncemq::OpenMemoryWindow({.level = oncemq::Level::kGuarded}, oncemq::SystemClock::Instance());
  const oncemq::Handler handler = [](const oncemq::Message&, oncemq::Context&) {
    return oncemq::Outcome(oncemq::Done{});
  };
  const auto refused = oncemq::Runtime::Open({}, window->get(), handler);
  oncemq::RuntimeOptions options;
  options.kafka = {.brokers = "localhost:9", .group = "stranger", .topics = {"orders"}};
  options.ids_partition_owned = true;
  const auto opened = oncemq::Runtime::Open(options, window->get(), handler);
  const bool as_said = !refused && refused.error().code == oncemq::Code::kInvalid && opened;
  std::puts(as_said ? refused.error().message.c_str() : "not as said");
  return as_said ? 0 : 1;
}
