// SPDX-License-Identifier: Apache-2.0
// The engines that the storms are played over: a line of the table for each, and what can be done
// to the server of one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/locks/lock_engine.h"
#include "player_options.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {

using Networks = std::vector<std::unique_ptr<TcpProxy>>;
inline void SetAll(const Networks& networks, TcpProxy::Mode mode) {
  for (const auto& network : networks) {
    network->Set(mode);
  }
}

// One server, or several that are one store: then troubles come to one of them at a time, in turn.
//
// Thread safety: one thread at a time.
class StormServer {
 public:
  virtual ~StormServer() = default;
  // Where players' networks lead to.
  virtual std::vector<uint16_t> ports() const = 0;
  // Tells a player how to reach it over networks that end at these ports.
  virtual void Put(PlayerOptions& player, const std::vector<uint16_t>& ports) const = 0;

  virtual void Pause() = 0;
  virtual void Continue() = 0;
  virtual void Kill9() = 0;
  // With the data that it kept.
  virtual void Restart() = 0;
  // The connections by which waiters are woken (StormEngine::cuts_wakes). How many there were; one
  // over these networks of the players may be missing, and is counted the next time.
  virtual size_t CutWakes(const Networks&) { return 0; }
};

struct StormEngine {
  std::string name;
  LockCapabilities can;
  // Why no server of it can be had.
  std::function<std::optional<std::string>()> missing;
  // `keeps`: it forgets nothing when it is killed; else it forgets as much as it may.
  std::function<std::unique_ptr<StormServer>(bool keeps)> start;
  // Of the players: the shortest that suits it. All other times of a storm follow it.
  milliseconds lease{200};
  // What its holds end with when their process is silent; some troubles outlast it. 0: a lease.
  milliseconds session{0};
  bool keeps = true;     // can be had so; else it is never killed
  bool forgets = false;  // can be had otherwise, and promises order of its fences all the same
  // The fence is given to the request: of readers that waited, the first one has the smallest.
  bool fences_of_requests = false;
  bool apart = false;  // each trouble is played by itself, too
  // What wakes waiters comes by connections of its own, and these can be cut alone.
  bool cuts_wakes = false;
};

const std::vector<StormEngine>& StormEngines();
// In a build without it one that cannot be had.
const StormEngine& StormEngineOf(std::string_view name);

}  // namespace oncemq::testing
