// SPDX-License-Identifier: Apache-2.0
// `oncemq lock ...`: what locks there are, who holds them, and taking one away.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catalogue_target.h"

namespace oncemq {

struct LockArguments {
  std::string at;  // where the locks are; empty: what ONCEMQ_LOCKS says
  std::string space;
  bool space_said = false;
  CatalogueArguments from;  // in place of an address and a space
  std::string config;       // of ls: the service file whose spaces are told
  std::string name;
  bool hex = false;   // the name is given as hex digits
  std::string after;  // of ls
  uint64_t limit = 100;
  std::string fence;                // of release
  bool resign = false;              // of election: ask the leader to
  std::string record;               // where the switch record is; empty: what ONCEMQ_RECORD says
  std::vector<std::string> stores;  // beside a record: NAME=ADDRESS; none: what ONCEMQ_STORES says
  std::string why;                  // of switch: for people
  bool next = false;                // of switch: to the next store in order
  bool planned_only = false;        // of switch: no drain in its place
  bool call_off = false;            // of switch
  bool watch = false;               // of switch: looks until it is over
  std::string board = "locks";      // beside a record: how its switchboard is called
  bool board_said = false;
  uint32_t first_epoch = 0;  // of switch: raises a record that was lost
  uint32_t longest = 0;      // of switch, with first_epoch: seconds of the longest lease
  uint64_t seconds = 2;      // of bench: for each measurement
  bool json = false;
};

int LockEnginesCommand(const LockArguments& arguments);
int LockLsCommand(const LockArguments& arguments);
int LockShowCommand(const LockArguments& arguments);
int LockRecallCommand(const LockArguments& arguments);
int LockReleaseCommand(const LockArguments& arguments);
int LockElectionCommand(const LockArguments& arguments);
// lock_switch_command.cc
int LockSwitchCommand(const LockArguments& arguments);
// lock_raise_command.cc: of `lock switch`, with first_epoch
int LockRaiseCommand(const LockArguments& arguments);
// lock_bench_command.cc
int LockBenchCommand(const LockArguments& arguments);

}  // namespace oncemq
