// SPDX-License-Identifier: Apache-2.0
#include "lock_calls.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <sstream>

namespace oncemq::testing {
namespace {

constexpr std::array<const char*, 3> kWhat{"ask", "extend", "free"};
constexpr std::array<const char*, 8> kAnswer{"no answer", "nothing", "queued", "granted",
                                             "extended",  "gone",    "freed",  "not held"};

std::string ModeOf(const LockCall& call) {
  return call.mode == LockMode::kCounted  ? " one of " + std::to_string(call.limit)
         : call.mode == LockMode::kShared ? " shared"
                                          : "";
}

}  // namespace

std::string ToString(const LockCall& call) {
  std::ostringstream out;
  out << call.process << ": " << kWhat.at(static_cast<size_t>(call.what)) << " " << call.name
      << ModeOf(call) << " by " << call.token.process % 10'000 << "." << call.token.attempt
      << " at " << call.requested_at << " -> " << kAnswer.at(static_cast<size_t>(call.answer));
  if (!call.fence.empty()) {
    out << " " << call.fence.epoch << "/" << call.fence.token;
  }
  if (call.answered_at != LockCall::kNever) {
    out << " at " << call.answered_at;
  }
  return out.str();
}

std::string RequestedLine(const LockCall& call, uint64_t number) {
  std::ostringstream out;
  out << "? " << call.process << " " << number << " " << call.name << " " << call.token.process
      << " " << call.token.attempt << " " << static_cast<int>(call.what) << " "
      << static_cast<int>(call.mode) << " " << call.lease << " " << call.requested_at << " "
      << call.limit << "\n";
  return out.str();
}

std::string AnsweredLine(const LockCall& call, uint64_t number) {
  std::ostringstream out;
  out << "! " << call.process << " " << number << " " << static_cast<int>(call.answer) << " "
      << call.fence.epoch << " " << call.fence.token << " " << call.answered_at << "\n";
  return out.str();
}

std::vector<LockCall> ReadCalls(const std::filesystem::path& file) {
  std::map<std::pair<int64_t, uint64_t>, LockCall> calls;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    char kind = 0;
    uint64_t number = 0;
    int what = 0;
    int mode = 0;
    LockCall read;
    words >> kind >> read.process >> number;
    LockCall& call = calls[{read.process, number}];
    if (kind == '?' && words >> read.name >> read.token.process >> read.token.attempt >> what >>
                           mode >> read.lease >> read.requested_at >> read.limit) {
      read.what = static_cast<LockCall::What>(what);
      read.mode = static_cast<LockMode>(mode);
      call = read;
    } else if (kind == '!' &&
               words >> what >> read.fence.epoch >> read.fence.token >> read.answered_at) {
      call.answer = static_cast<LockCall::Answer>(what);
      call.fence = read.fence;
      call.answered_at = read.answered_at;
    }
  }
  std::vector<LockCall> all;
  for (auto& [key, call] : calls) {
    if (!call.name.empty()) {
      all.push_back(std::move(call));
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const LockCall& a, const LockCall& b) {
    return a.requested_at < b.requested_at;
  });
  return all;
}

}  // namespace oncemq::testing
