// SPDX-License-Identifier: Apache-2.0
// A service that does nothing twice: the gate without Kafka, in one process.
#include <cstdio>
#include <optional>
#include <string>

#include "oncemq/dedup/memory_window.h"
#include "oncemq/gate/gate.h"

namespace {

int placed = 0;

// The receipt of the order, which is placed once; none: not known now.
std::optional<std::string> PlaceOnce(oncemq::Gate& gate, const oncemq::Contents& order) {
  oncemq::PreAnswer pre = gate.Pre(order);
  if (pre.state == oncemq::PreState::kDuplicate) {
    // The first call's, if it is stored.
    return pre.has_result ? std::optional(pre.result) : std::nullopt;
  }
  if (pre.state != oncemq::PreState::kPermitted) {
    return std::nullopt;  // in progress, uncertain, a conflict, or the window did not answer
  }
  placed++;
  const std::string receipt = "receipt";
  return pre.ticket.Final(receipt) ? std::optional(receipt) : std::nullopt;
}

}  // namespace

int main() {
  auto window =
      oncemq::OpenMemoryWindow({.level = oncemq::Level::kGuarded}, oncemq::SystemClock::Instance());
  auto gate = window ? oncemq::Gate::Open(*std::move(window), {.application = "stranger"})
                     : oncemq::Result<std::unique_ptr<oncemq::Gate>>(window.error());
  if (!gate) {
    std::fprintf(stderr, "%s\n", gate.error().message.c_str());
    return 1;
  }
  const auto order = oncemq::Contents::OfFields({{"item", "tea"}, {"pieces", 2}});
  const bool same = PlaceOnce(**gate, order) == "receipt" && PlaceOnce(**gate, order) == "receipt";
  const auto without_result = oncemq::Contents::OfFields({{"item", "tea"}, {"pieces", 3}});
  const bool finished = (**gate).Pre(without_result).ticket.FinalWithoutResult().has_value();
  const bool unknown = PlaceOnce(**gate, without_result) == std::nullopt;
  return same && finished && unknown && placed == 1 ? 0 : 1;
}
