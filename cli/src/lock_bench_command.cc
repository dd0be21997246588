// SPDX-License-Identifier: Apache-2.0
// `oncemq lock bench`: what locks cost in the store that is there. Its names begin with "oncemq
// bench" and some chance, and are given back.
#include <algorithm>
#include <atomic>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "exit_code.h"
#include "lock_target.h"
#include "oncemq/base/bytes.h"
#include "oncemq/base/random.h"
#include "oncemq/locks/lock_domain.h"
#include "safe_json.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

struct Measured {
  std::vector<int64_t> micros;  // of each acquire and release
  std::optional<Error> failed;
};

// Acquires and releases until `until`.
Measured Play(LockDomain& domain, const std::string& name, BootTime until) {
  Measured measured;
  for (BootTime begin = BootNow(); begin < until; begin = BootNow()) {
    AcquireOptions how;
    how.until = until;
    auto lease = domain.Acquire(name, how);
    if (!lease) {
      measured.failed = lease.error();
      break;
    }
    if (*lease && (*lease)->Release() == Released::kYes) {
      measured.micros.push_back((BootNow() - begin).count());
    }
  }
  return measured;
}

ordered_json Contended(LockDomain& domain, const std::string& name, size_t threads,
                       milliseconds time, std::optional<Error>& failed) {
  std::vector<Measured> each(threads);
  const BootTime begin = BootNow();
  {
    std::vector<std::jthread> players;
    for (Measured& measured : each) {
      players.emplace_back([&domain, &name, &measured, until = begin + time] {
        measured = Play(domain, name, until);
      });
    }
  }
  const int64_t took = std::max<int64_t>(1, (BootNow() - begin).count());
  std::vector<int64_t> all;
  size_t least = SIZE_MAX;
  size_t most = 0;
  for (const Measured& measured : each) {
    all.insert(all.end(), measured.micros.begin(), measured.micros.end());
    least = std::min(least, measured.micros.size());
    most = std::max(most, measured.micros.size());
    failed = measured.failed ? measured.failed : failed;
  }
  std::sort(all.begin(), all.end());
  ordered_json json{{"contenders", threads}, {"locks", all.size()}};
  if (!all.empty()) {
    json["locks_per_second"] = static_cast<int64_t>(all.size()) * 1'000'000 / took;
    json["p50_us"] = all[all.size() / 2];
    json["p99_us"] = all[all.size() * 99 / 100];
    json["least_of_one"] = least;
    json["most_of_one"] = most;
  }
  return json;
}

}  // namespace

int LockBenchCommand(const LockArguments& arguments) {
  auto locks = OpenLocksOf(arguments);
  if (!locks) {
    return LockFailed(locks.error());
  }
  LockOptions options;
  options.lease = std::min(options.lease, (*locks)->capabilities().longest_lease);
  const auto domain = LockDomain::Open(*locks, options);
  if (!domain) {
    return LockFailed(domain.error());
  }
  const std::string name = "oncemq bench " + Hex(SecureRandom64());
  const milliseconds time = std::chrono::seconds(static_cast<int64_t>(arguments.seconds));
  for (const size_t threads : {1, 8, 64}) {
    std::optional<Error> failed;
    const ordered_json json = Contended(**domain, name, threads, time, failed);
    if (failed) {
      return LockFailed(*failed);
    }
    if (arguments.json) {
      std::cout << SafeJson(json) << "\n";
      continue;
    }
    std::cout << threads << (threads == 1 ? " contender: " : " contenders: ");
    if (json["locks"] == 0) {
      std::cout << "none had a turn\n";
      continue;
    }
    std::cout << json["locks_per_second"] << " locks/s, a lock and its release " << json["p50_us"]
              << " us (median), " << json["p99_us"]
              << " us (99 %); turns of one: " << json["least_of_one"] << " to "
              << json["most_of_one"] << "\n";
  }
  return kExitDone;
}

}  // namespace oncemq
