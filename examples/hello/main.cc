// SPDX-License-Identifier: Apache-2.0
// A whole service: prints each payment once, the payments of one key in order.
#include <iostream>

#include "oncemq/dedup/memory_window.h"
#include "oncemq/framework/runtime.h"
#include "oncemq/framework/stop_signals.h"

oncemq::Outcome OnPayment(const oncemq::Message& message, oncemq::Context& context) {
  if (!message.value()) {
    return oncemq::Reject{"no payment in it"};
  }
  // An effect whose target stores context.id() with it, and knows it again, is level guarded.
  std::cout << context.id() << ": " << *message.value() << std::endl;
  return oncemq::Done{};
}

int main() {
  const oncemq::StopSignals signals;  // before any thread: SIGINT and SIGTERM ask to stop
  oncemq::RuntimeOptions options;
  options.kafka = {.brokers = "localhost:9092", .group = "hello", .topics = {"payments"}};
  options.ids_partition_owned = true;  // all copies of an id come through one partition
  // Nobody can check what was printed, so this is the level opaque: at least once.
  const auto window =
      oncemq::OpenMemoryWindow({.level = oncemq::Level::kOpaque}, oncemq::SystemClock::Instance());
  if (!window) {
    std::cerr << "hello: " << ToString(window.error()) << std::endl;
    return 1;
  }
  const auto runtime = oncemq::Runtime::Open(options, window->get(), OnPayment);
  if (!runtime) {
    std::cerr << "hello: " << ToString(runtime.error()) << std::endl;
    return 1;
  }
  const oncemq::RunReport report = (*runtime)->Run(signals.token());  // until stopped
  std::cerr << report.counts.applied << " applied, " << report.counts.suppressed << " suppressed\n";
  for (const std::string& stop : report.stops) {  // partitions that cannot go on, and why
    std::cerr << "hello: " << stop << "\n";
  }
  return report.clean && report.stops.empty() ? 0 : 1;
}
