// SPDX-License-Identifier: Apache-2.0
// Runtime against floor on a real broker: the common part of the runtime benches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench_report.h"
#include "oncemq/framework/runtime.h"
#include "peer.h"

namespace oncemq::bench {

// What a window of a run may have to know.
struct RunFacts {
  uint32_t messages = 0;
  std::string cluster;
  std::string group;
  std::string topic;
  int32_t partitions = 0;
};

using NewWindow = std::function<std::unique_ptr<Window>(const RunFacts&)>;

// Messages per second of anything else on the same topic.
struct Floor {
  std::string name;
  std::function<double(const PeerRun&)> rate;
};

struct PipelineOptions {
  int64_t messages = 5'000'000;  // --messages; a million with --quick
  int pairs = 5;                 // --pairs: runtime and floor in turn; 3 with --quick
  double duplicates = 0;         // share of messages that copy an earlier one of their partition
  std::vector<uint32_t> workers = {0, 1};  // of the runtime, one mode each; 0: inline
  bool ids_cross = false;                  // copies may come through any partition
  NewWindow window;                        // of each run; nothing: none
  // The same with another window, in turn, compared with `window`.
  std::string other_name = {};
  NewWindow other = nullptr;
  bool other_scraped = false;  // --scraped: the other one has the same window, and is scraped
  std::optional<Floor> floor = std::nullopt;  // nothing: the split-queue loop
  std::optional<Peer> peer = std::nullopt;    // with --peers DIR it runs after each pair
};

// Fills a topic of 8 partitions with messages of 256 bytes over 10,000 keys, then runs floor and
// runtime in turn, in each mode, and reports the median of messages per second and of the ratios of
// the pairs; --inline leaves modes with workers out (for a profile). With a peer: also its own
// figure against the floor, and ours against it. With --scraped it compares with a run under one
// scrape of its metrics a second.
int RunPipelineBench(const std::string& name, PipelineOptions options, int argc, char** argv);

}  // namespace oncemq::bench
