// SPDX-License-Identifier: Apache-2.0
// The arguments of `replay`, the same ones of a program and of the command `oncemq`.
//
//   const auto arguments = ReadReplayArguments(words, now_ms);
//   std::cout << ReplayUsage("payments");
//
// **Thread safety:** pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "oncemq/base/result.h"
#include "oncemq/framework/replay.h"

namespace oncemq {

struct ReplayArguments {
  std::string config;
  ReplayRequest request;
  std::string directory;  // empty: the set is not kept
  bool json = false;
  bool help = false;
};

struct ReplayFlag {
  std::string_view name;     // --since
  std::string_view value;    // TIME, or nothing
  std::string_view meaning;  // a sentence
  // False for a wrong value. `now_ms` as below.
  bool (*set)(ReplayArguments& arguments, const std::string& value, int64_t now_ms);
};
std::span<const ReplayFlag> ReplayFlags();

// `now_ms` is the present in milliseconds since 1970, for times such as "26h". kInvalid names the
// wrong word.
Result<ReplayArguments> ReadReplayArguments(std::span<const std::string> words, int64_t now_ms);

std::string ReplayUsage(std::string_view program);

// Whether the request says anything of a set.
bool Narrows(const ReplayRequest& request);

// Whether the options agree. kInvalid: nothing says from where on, or offsets name no partition.
Status CheckReplayArguments(const ReplayArguments& arguments);

}  // namespace oncemq
