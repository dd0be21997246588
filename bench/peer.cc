// SPDX-License-Identifier: Apache-2.0
#include "peer.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "bench_report.h"
#include "support/process.h"
#include "support/require_backend.h"
#include "support/temp_dir.h"

namespace oncemq::bench {
namespace {

// Above the patience of the peers themselves, whose words are better than ours.
constexpr auto kPatience = std::chrono::minutes(6);

std::string ReadAll(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

[[noreturn]] void Fail(const Peer& peer, const std::string& what, const std::string& output) {
  throw std::runtime_error("peer " + peer.name + ": " + what + "; it said:\n" + output);
}

}  // namespace

std::string PeerProgram(const Peer& peer, const std::string& peers_dir) {
  return peers_dir + "/" + peer.folder + "/peer";
}

std::optional<std::string> PeersDir(const Peer& peer, int argc, char** argv) {
  if (!HasFlag(argc, argv, "--peers")) {
    return std::nullopt;
  }
  const std::string dir = Argument(argc, argv, "--peers").value_or(".");
  const std::string program = PeerProgram(peer, dir);
  if (access(program.c_str(), X_OK) == 0) {
    return dir;
  }
  std::fprintf(stderr, "SKIP peer %s: there is no %s (scripts/bench_peers builds it)\n",
               peer.name.c_str(), program.c_str());
  if (testing::BackendsAreRequired()) {
    throw std::runtime_error("REQUIRE_BACKENDS=1, but a peer is missing");
  }
  return std::nullopt;
}

double RunPeer(const Peer& peer, const std::string& peers_dir, const PeerRun& run) {
  // Half of a short topic is measured, and a quarter warms up.
  const int64_t messages = peer.at_most ? std::min(*peer.at_most, run.messages / 2) : run.messages;
  std::vector<std::string> command = {PeerProgram(peer, peers_dir), run.bootstrap, run.topic,
                                      run.group, std::to_string(messages)};
  if (peer.warm_up > 0) {
    command.push_back(std::to_string(std::min(peer.warm_up, run.messages / 4)));
  }
  std::string output;
  std::optional<int> exit;
  {
    const testing::TempDir dir;
    const std::filesystem::path log = dir.path() / "peer.log";
    testing::Process process({.command = command, .log_file = log});
    exit = process.Wait(kPatience);
    if (!exit) {
      process.Kill9();
    }
    output = ReadAll(log);
  }
  if (exit != 0) {
    Fail(peer, exit ? "exit code " + std::to_string(*exit) : "no end in six minutes", output);
  }
  long long measured = 0;
  long long applied = 0;
  double seconds = 0;
  const size_t line = output.find("{\"messages\":");
  if (line == std::string::npos ||
      std::sscanf(output.c_str() + line, "{\"messages\":%lld,\"seconds\":%lf,\"applied\":%lld",
                  &measured, &seconds, &applied) != 3) {
    Fail(peer, "no result", output);
  }
  if (measured != messages || applied != (peer.at_most ? messages : run.distinct) || seconds <= 0) {
    Fail(peer, "the run is not valid", output);
  }
  return static_cast<double>(messages) / seconds;
}

}  // namespace oncemq::bench
