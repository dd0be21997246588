// SPDX-License-Identifier: Apache-2.0
// The cost of a window in Redis, end to end. Level guarded, ids that may come through any
// partition, 30 % copies, 4 workers. The floor is a consumer by hand, in turn with ours on the same
// broker and Redis: one message at a time, SET NX PX for its id, and the handler where that was
// new. The client commits every 5 s; with --commit-each, each message waits for its commit. With
// --away Redis is 1 ms away from both, each way. The floor's rate is that of its first messages.
// Redis waits for no disk.
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "oncemq/clients/redis_client.h"
#include "oncemq/dedup/redis_window.h"
#include "runtime_pipeline.h"
#include "support/poll_loop.h"
#include "support/redis_server.h"
#include "support/slow_network.h"

namespace oncemq::bench {
namespace {

constexpr int64_t kFloorMessages = 100'000;
constexpr int64_t kFloorSlow = 5'000;  // with --commit-each or --away
constexpr uint32_t kWorkers = 4;

void MustWork(bool works, const std::string& what) {
  if (!works) {
    std::fprintf(stderr, "runtime/redis: %s\n", what.c_str());
    std::exit(3);
  }
}

class Redis {
 public:
  explicit Redis(bool away) {
    if (away) {
      network_.emplace(server_->port(), milliseconds(1));
    }
    url_ = away ? "redis://127.0.0.1:" + std::to_string(network_->port()) : server_->url();
    client_ = *RedisClient::Open(*ParseRedisEndpoint(url_), {}, 1);
  }

  // Each run begins with an empty server.
  std::unique_ptr<Window> NewWindow() {
    Flush();
    auto window = OpenRedisWindow(
        url_, {.scope = "bench/" + std::to_string(++scopes_), .level = Level::kGuarded});
    MustWork(window.has_value(), "no window");
    return *std::move(window);
  }
  double NaiveRate(const PeerRun& run, bool commit_each) {
    Flush();
    const int64_t most = commit_each || network_ ? kFloorSlow : kFloorMessages;
    const int64_t messages = std::min(run.messages, most);
    std::atomic<int64_t> handled{0};
    const double seconds = testing::RunPollLoop(
        {.bootstrap = run.bootstrap,
         .group = run.group,
         .topic = run.topic,
         .messages = messages,
         .commit_each = commit_each,
         .handle = [&](std::string_view id) { handled += IsNew(id) ? 1 : 0; }});
    MustWork(handled > messages / 2 && handled < messages, "the floor handled other messages");
    return static_cast<double>(messages) / seconds;
  }

 private:
  void Flush() { MustWork(client_->Run(RedisCommand{"FLUSHALL"}).has_value(), "not flushed"); }
  bool IsNew(std::string_view id) {
    const std::string key = "dedup:" + std::string(id);
    const auto set = client_->Run(RedisCommand{"SET", key, "1", "NX", "PX", "604800000"});
    MustWork(set.has_value(), "the floor got no answer");
    return set->text == "OK";
  }

  const std::unique_ptr<testing::RedisServer> server_ = testing::RedisServer::Start();
  std::optional<testing::SlowNetwork> network_;
  std::string url_;
  std::unique_ptr<RedisClient> client_;
  int scopes_ = 0;
};

int RunRedis(int argc, char** argv) {
  if (const auto missing = testing::RedisServer::Missing()) {
    MustWork(false, *missing);
  }
  Redis redis(HasFlag(argc, argv, "--away"));
  const bool commit_each = HasFlag(argc, argv, "--commit-each");
  PipelineOptions options;
  options.messages = 500'000;
  options.duplicates = 0.3;
  options.workers = {kWorkers};
  options.ids_cross = true;
  options.window = [&](const RunFacts&) { return redis.NewWindow(); };
  options.floor = {.name = commit_each ? "SET NX, commit each" : "SET NX, auto commit",
                   .rate = [&](const PeerRun& run) { return redis.NaiveRate(run, commit_each); }};
  return RunPipelineBench("runtime/redis", options, argc, argv);
}

}  // namespace
}  // namespace oncemq::bench

int main(int argc, char** argv) {
  return oncemq::bench::RunRedis(argc, argv);
}
