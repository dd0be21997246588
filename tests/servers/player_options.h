// SPDX-License-Identifier: Apache-2.0
// What a player of lock_player.cc is told, as words of a command line: KEY=VALUE.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "oncemq/base/clock.h"

namespace oncemq::testing {

struct PlayerOptions {
  std::filesystem::path directory;  // of all players: beliefs, calls, ledger, switch record
  // One of three: an engine's address, stores of a switchboard, or an exhibit and its server.
  std::string at;
  std::vector<std::pair<std::string, std::string>> stores = {};
  std::string exhibit = {};
  std::string record = {};  // of the switchboard; empty: in the directory

  int seed = 1;
  milliseconds lease{200};  // short, so that many end while somebody is paused
  milliseconds queue_lease{200};
  milliseconds call{100};
  milliseconds session{0};  // where there are sessions
  milliseconds hold{400};   // at most
  milliseconds wait{350};   // at most
  int names = 3;
  int readers = 0;  // in a hundred
  int counted = 0;  // in a hundred, too
  int limit = 2;    // of these
  milliseconds clock_error{0};
  milliseconds config_lease{800};  // of a switchboard
  milliseconds longest{3'000};
  std::string keeps = {};   // a name that it holds from the beginning to the end
  bool fenced = false;      // all that it does under an exclusive hold carries the fence
  bool votes = false;       // may leave a store that fails
  bool goes_blind = false;  // cannot read the switch record once the file `blind` is there
  bool comes_last = false;  // when all others have ended: takes each name
};

// The address of the switch record.
std::string RecordOf(const PlayerOptions& options);
std::vector<std::string> WordsOf(const PlayerOptions& options);
PlayerOptions ParsePlayerOptions(const std::vector<std::string>& words);

}  // namespace oncemq::testing
