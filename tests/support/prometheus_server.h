// SPDX-License-Identifier: Apache-2.0
// A real Prometheus as a child process, on a free port of 127.0.0.1, its data in a temporary
// directory. It scrapes and judges its rules each second.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "loopback_port.h"
#include "process.h"
#include "require_backend.h"
#include "temp_dir.h"

namespace oncemq::testing {

struct PrometheusSample {
  std::map<std::string, std::string> labels;
  double value = 0;
};

// Every call that can fail throws std::runtime_error.
//
// Thread safety: one thread at a time, and start it from a thread that stays (see Process).
class PrometheusServer {
 public:
  // Why none can be started here; nothing when one can.
  static std::optional<std::string> Missing();

  // `rules` is the text of a file of rules.
  static std::unique_ptr<PrometheusServer> Start(const std::string& rules = "");

  // From the next second on these addresses, `host:port`.
  void Scrape(const std::vector<std::string>& targets);
  // What an expression has now.
  std::vector<PrometheusSample> Query(const std::string& expression) const;
  // Names of the alerts that fire now.
  std::set<std::string> Firing() const;

 private:
  PrometheusServer() = default;
  std::string Get(const std::string& path) const;

  const TempDir dir_;
  const LoopbackPort port_;
  std::unique_ptr<Process> process_;
};

}  // namespace oncemq::testing

#define ONCEMQ_REQUIRE_PROMETHEUS() \
  ONCEMQ_REQUIRE_BACKEND(::oncemq::testing::PrometheusServer::Missing())
