// SPDX-License-Identifier: Apache-2.0
// Bytes of an id in the window in Redis, by the growth of the server's used_memory: claimed, and
// finished without a result. The floor is SET NX PX of the same ids, UUIDs of 36
// bytes under a prefix. Each case has a server of its own.
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "bench_report.h"
#include "oncemq/base/hash.h"
#include "oncemq/clients/redis_client.h"
#include "oncemq/dedup/redis_window.h"
#include "support/eventually.h"
#include "support/redis_server.h"

namespace oncemq::bench {
namespace {

constexpr size_t kAtOnce = 500;  // ids of a call
constexpr double kTarget = 90;   // bytes of a finished id

void Require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "window/redis-memory: %s\n", what);
    std::exit(3);
  }
}

std::string Uuid(size_t number) {
  std::array<char, 37> text{};
  const auto high = static_cast<unsigned long long>(MixBits(2 * number));
  const auto low = static_cast<unsigned long long>(MixBits(2 * number + 1));
  std::snprintf(text.data(), text.size(), "%08llx-%04llx-%04llx-%04llx-%012llx", high >> 32,
                high >> 16 & 0xffff, high & 0xffff, low >> 48, low & 0xffffffffffff);
  return text.data();
}

// Ids of [from, to) come into the server at `url`.
using Fill = std::function<void(const std::string& url, size_t from, size_t to)>;

void ForEachBatch(size_t from, size_t to,
                  const std::function<void(size_t first, const std::vector<std::string>&)>& call) {
  for (size_t first = from; first < to; first += kAtOnce) {
    std::vector<std::string> ids;
    for (size_t i = first; i < std::min(first + kAtOnce, to); i++) {
      ids.push_back(Uuid(i));
    }
    call(first, ids);
  }
}

void FillWindow(const std::string& url, size_t from, size_t to, bool finish) {
  const auto window = *OpenRedisWindow(url, {.scope = "bench", .level = Level::kGuarded});
  const OwnerEpoch owner_epoch = *window->RaiseOwnerEpoch(0, 3, 0);
  ForEachBatch(from, to, [&](size_t first, const std::vector<std::string>& ids) {
    std::vector<ClaimRequest> claims;
    std::vector<CompleteRequest> done;
    for (size_t i = 0; i < ids.size(); i++) {
      const Coordinates at{0, 3, static_cast<int64_t>(first + i)};
      const Token token{1, first + i + 1};
      const LogTime time{milliseconds(1'700'000'000'000 + at.offset)};
      claims.push_back({.id = ids[i],
                        .token = token,
                        .at = at,
                        .owner_epoch = owner_epoch,
                        .time = time,
                        .first = true});
      done.push_back({.id = ids[i], .token = token, .at = at, .time = time});
    }
    std::vector<ClaimAnswer> answers(ids.size());
    Require(window->Claim(claims, answers) && answers.back().answer == ClaimVerdict::kGranted,
            "no claim");
    std::vector<MarkerChange> changes(ids.size());
    Require(!finish || (window->Complete(done, changes) && changes.back() == MarkerChange::kMade),
            "not completed");
  });
}

void FillPlain(const std::string& url, size_t from, size_t to) {
  const auto client = *RedisClient::Open(*ParseRedisEndpoint(url), {}, 1);
  ForEachBatch(from, to, [&](size_t, std::vector<std::string> keys) {
    std::vector<RedisCommand> commands;
    for (std::string& key : keys) {
      key.insert(0, "dedup:");
      commands.push_back({"SET", key, "1", "NX", "PX", "604800000"});
    }
    const auto set = client->Run(commands);
    Require(set && set->back().text == "OK", "the floor failed");
  });
}

// Once no other connection has buffers there.
double UsedMemory(RedisClient& client) {
  std::string info;
  const bool alone = testing::Eventually(milliseconds(10'000), [&] {
    const auto reply = client.Run(RedisCommand{"INFO"});
    info = reply ? reply->text : "";
    return RedisInfo(info, "connected_clients") == "1";
  });
  Require(alone, "a connection stays open");
  return std::stod(std::string(RedisInfo(info, "used_memory")));
}

double BytesEach(size_t ids, const Fill& fill) {
  const auto server = testing::RedisServer::Start();
  const auto client = *RedisClient::Open(*ParseRedisEndpoint(server->url()), {}, 1);
  fill(server->url(), 0, kAtOnce);  // scripts, and the keys that a scope has but once
  const double before = UsedMemory(*client);
  fill(server->url(), kAtOnce, kAtOnce + ids);
  return (UsedMemory(*client) - before) / static_cast<double>(ids);
}

int RunMemory(int argc, char** argv) {
  if (const auto missing = testing::RedisServer::Missing()) {
    Require(false, missing->c_str());
  }
  Report report("window/redis-memory", argc, argv);
  for (const size_t ids : {50'000, 1'000'000}) {
    if (ids > 50'000 && HasFlag(argc, argv, "--quick")) {
      break;
    }
    const double plain = BytesEach(ids, FillPlain);
    const auto window = [&](bool finish) {
      return BytesEach(ids, [finish](const std::string& url, size_t from, size_t to) {
        FillWindow(url, from, to, finish);
      });
    };
    const double done = window(true);
    const std::string name = std::to_string(ids) + " ids / ";
    report.Add(name + "in flight, SET NX PX", window(false), "B", plain);
    report.Add(name + "done, SET NX PX", done, "B", plain);
    report.Add(name + "done, target", done, "B", kTarget);
  }
  return 0;
}

}  // namespace
}  // namespace oncemq::bench

int main(int argc, char** argv) {
  return oncemq::bench::RunMemory(argc, argv);
}
