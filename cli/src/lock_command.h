// SPDX-License-Identifier: Apache-2.0
// `oncemq lock ...`: what locks there are, who holds them, and taking one away.
#pragma once

#include <cstdint>
#include <string>

namespace oncemq {

struct LockArguments {
  std::string at;  // where the locks are; empty: what ONCEMQ_LOCKS says
  std::string space;
  std::string name;
  bool hex = false;   // the name is given as hex digits
  std::string after;  // of ls
  uint64_t limit = 100;
  std::string fence;  // of release
  bool json = false;
};

int LockEnginesCommand(const LockArguments& arguments);
int LockLsCommand(const LockArguments& arguments);
int LockShowCommand(const LockArguments& arguments);
int LockAskBackCommand(const LockArguments& arguments);
int LockReleaseCommand(const LockArguments& arguments);

}  // namespace oncemq
