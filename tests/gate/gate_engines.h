// SPDX-License-Identifier: Apache-2.0
// The windows that the gate is tested over, and their clocks. A further one is one more line of
// GateEngines().
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "oncemq/gate/gate.h"

namespace oncemq::testing {

struct GateEngine {
  std::string name;
  // An empty window, or the one of that number again. Throws if it cannot be had.
  std::function<std::shared_ptr<Window>(Level level, int number)> open;
  std::function<void(milliseconds)> advance;
  bool outlives_process = true;
};

// Those that can be had here.
const std::vector<GateEngine>& GateEngines();
inline std::string NameOf(const ::testing::TestParamInfo<GateEngine>& info) {
  return info.param.name;
}

class GateTest : public ::testing::TestWithParam<GateEngine> {
 protected:
  static GateOptions Usual() {
    GateOptions options;
    options.application = "test";
    options.lease = milliseconds(10'000);
    options.within = milliseconds(60'000);  // of a slow machine
    return options;
  }

  // A gate over a new window.
  void Open(Level level = Level::kOpaque, const GateOptions& options = Usual());
  // Another one over the same window: another process, or another version.
  std::unique_ptr<Gate> Another(const GateOptions& options);
  void Advance(milliseconds by);

  Gate& gate() { return *gate_; }
  const std::shared_ptr<Window>& window() { return window_; }
  PreAnswer Pre(std::string_view key, const Contents& contents = Contents::OfBytes("order")) {
    return gate_->Pre(contents, {.key = key});
  }
  // The whole of a permitted one.
  void Run(std::string_view key, std::string_view result);

  ManualClock clock_;  // of the gate itself: of results and of Retention::Until

 private:
  std::shared_ptr<Window> window_;
  std::unique_ptr<Gate> gate_;
};

}  // namespace oncemq::testing
