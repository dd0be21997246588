// SPDX-License-Identifier: Apache-2.0
// One window on disk in a directory of a test, and what the tests ask of it.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "oncemq/dedup/local_window.h"

namespace oncemq::testing {

// Log time of all ids: in the past of every clock.
inline constexpr LogTime kThen{milliseconds(1'600'000'000'000)};

inline LocalWindowOptions DiskOptions(const std::string& directory, uint32_t generation) {
  LocalWindowOptions options;
  options.directory = directory;
  options.identity = "a test";
  options.level = Level::kGuarded;
  options.generation = generation;
  options.remember = milliseconds(3'600'000);
  options.skew = milliseconds(0);
  return options;
}

inline std::string IdNumber(int64_t number) {
  return "payment-" + std::to_string(number);
}

// A first commit, so that the log time of partition 0 is known: the time of all ids.
inline Status CommitNothing(Window& window, OwnerEpoch owner_epoch) {
  const Progress progress{.owner_epoch = owner_epoch, .watermark = kThen};
  MarkerChange change{};
  return window.Committed({&progress, 1}, {&change, 1});
}

// Claims and finishes ids [from, to) as one batch, at their own offsets of partition 0.
inline Status FinishIds(Window& window, int64_t from, int64_t to) {
  std::vector<std::string> ids;
  std::vector<ClaimRequest> claims;
  std::vector<CompleteRequest> completions;
  for (int64_t i = from; i < to; i++) {
    ids.push_back(IdNumber(i));
  }
  for (int64_t i = from; i < to; i++) {
    const std::string& id = ids[static_cast<size_t>(i - from)];
    const Token token{0xD15C, static_cast<uint64_t>(i + 1)};
    claims.push_back({.id = id, .token = token, .at = {0, 0, i}, .time = kThen});
    completions.push_back({.id = id, .token = token, .at = {0, 0, i}, .time = kThen});
  }
  std::vector<ClaimAnswer> answers(claims.size());
  std::vector<MarkerChange> changes(claims.size());
  if (Status claimed = window.Claim(claims, answers); !claimed) {
    return claimed;
  }
  return window.Complete(completions, changes);
}

// How many ids of [from, to) the window does not know. An error is no answer, and is given back.
inline Result<int64_t> Unknown(Window& window, int64_t from, int64_t to) {
  int64_t unknown = 0;
  for (int64_t i = from; i < to; i++) {
    const std::string id = IdNumber(i);
    const std::string_view view = id;
    MarkerView marker;
    if (Status peeked = window.Peek({&view, 1}, {&marker, 1}); !peeked) {
      return peeked.error();
    }
    unknown += marker.state == MarkerState::kDone ? 0 : 1;
  }
  return unknown;
}

inline void FlipByte(const std::filesystem::path& file, uint64_t at) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(at));
  const int byte = stream.get();
  stream.seekp(static_cast<std::streamoff>(at));
  stream.put(static_cast<char>(byte ^ 0x20));
}

}  // namespace oncemq::testing
