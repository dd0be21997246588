// SPDX-License-Identifier: Apache-2.0
// The demo: payments with duplicates on an embedded broker, two workers that come and go, and a
// verdict. It starts itself again as `demo worker ...` for each worker.
#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

#include "broker_only.h"
#include "options.h"
#include "story.h"
#include "worker.h"

namespace {

int Refuse(const oncemq::Error& error) {
  std::fprintf(stderr, "demo: %s\n%s", error.message.c_str(), oncemq::demo::kHelp);
  return 2;
}

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string_view> arguments(words + 1, words + count);
  const std::span<const std::string_view> all(arguments);
  if (!all.empty() && all.front() == "worker") {
    const auto worker = oncemq::demo::ParseWorker(all.subspan(1));
    return worker ? oncemq::demo::RunWorker(*worker) : Refuse(worker.error());
  }
  const auto options = oncemq::demo::ParseOptions(all);
  if (!options) {
    return Refuse(options.error());
  }
  if (options->help) {
    std::fputs(oncemq::demo::kHelp, stdout);
    return 0;
  }
  return options->broker_only ? oncemq::demo::OfferBroker(*options)
                              : oncemq::demo::RunStory(*options);
}
