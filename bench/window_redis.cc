// SPDX-License-Identifier: Apache-2.0
// The window in Redis, level guarded: claim and completion of ids that are all new, in batches, by
// one caller. Next to it, in the same run:
//   scripts   by hand, fenced: a script for each id claims, another one compares the token and ends
//   plain     by hand, unfenced: SET NX PX for each id, then SET PX
// Both send a batch as one pipeline. One connection each, no disk.
#include <array>
#include <string>
#include <vector>

#include "bench_report.h"
#include "oncemq/clients/redis_client.h"
#include "oncemq/dedup/redis_window.h"
#include "support/redis_server.h"

namespace oncemq::bench {
namespace {

constexpr const char* kLease = "30000";
constexpr const char* kKeep = "604800000";

void Expect(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "window/redis: %s\n", what);
    std::exit(3);
  }
}

using Ids = std::vector<std::string>;

class Bench {
 public:
  explicit Bench(const std::string& url)
      : client_(*RedisClient::Open(*ParseRedisPlace(url), {}, 1)),
        window_(*OpenRedisWindow(url, {.scope = "bench", .level = Level::kGuarded})) {
    own_ = *window_->RaiseOwn(0, 3, 0);
  }

  // As the runtime calls the window for a run of an owned partition.
  void Ours(const Ids& ids) {
    std::vector<ClaimRequest> claims;
    std::vector<CompleteRequest> done;
    for (const std::string& id : ids) {
      const Token token{1, ++tokens_};
      const LogTime time{milliseconds(1'700'000'000'000 + next_)};
      claims.push_back({.id = id,
                        .token = token,
                        .at = {0, 3, next_},
                        .own = own_,
                        .time = time,
                        .first = true});
      done.push_back({.id = id, .token = token, .at = {0, 3, next_++}, .time = time});
    }
    std::vector<ClaimAnswer> answers(ids.size());
    std::vector<Change> changes(ids.size());
    Expect(window_->Claim(claims, answers).has_value() && answers.back().answer == Answer::kGranted,
           "no claim");
    Expect(window_->Complete(done, changes).has_value() && changes.back() == Change::kMade,
           "not completed");
  }
  void Scripts(const Ids& ids) {
    Ids tokens;
    for (size_t i = 0; i < ids.size(); i++) {
      tokens.push_back(std::to_string(++tokens_));
    }
    std::vector<RedisCommand> claims, ends;
    for (size_t i = 0; i < ids.size(); i++) {
      claims.push_back({ids[i], tokens[i], kLease});
      ends.push_back({ids[i], tokens[i], kKeep});
    }
    ExpectOne(client_->Call(claim_, 1, claims));
    ExpectOne(client_->Call(end_, 1, ends));
  }
  void Plain(const Ids& ids) {
    std::vector<RedisCommand> claims, ends;
    for (const std::string& id : ids) {
      claims.push_back({"SET", id, "1", "NX", "PX", kLease});
      ends.push_back({"SET", id, "2", "PX", kKeep});
    }
    ExpectOk(client_->Run(claims));
    ExpectOk(client_->Run(ends));
  }

  // Microseconds of an id.
  template <class Way>
  double Timed(Way way, size_t batch, size_t ids) {
    std::vector<Ids> batches;
    for (size_t i = 0; i < ids; i += batch) {
      Ids& some = batches.emplace_back();
      for (size_t j = 0; j < batch; j++) {
        some.push_back("payment-" + std::to_string(ids_++) + "-0123456789");
      }
    }
    const double begin = WallSeconds();
    for (const Ids& some : batches) {
      (this->*way)(some);
    }
    return (WallSeconds() - begin) * 1e6 / static_cast<double>(batches.size() * batch);
  }

 private:
  static void ExpectOne(const Result<std::vector<RedisReply>>& replies) {
    Expect(replies && replies->back().integer == 1, "the floor failed");
  }
  static void ExpectOk(const Result<std::vector<RedisReply>>& replies) {
    Expect(replies && replies->back().text == "OK", "the floor failed");
  }

  const RedisScript claim_{
      "return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0"};
  const RedisScript end_{
      "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
      "redis.call('SET', KEYS[1], 'done', 'PX', ARGV[2]) return 1"};
  const std::unique_ptr<RedisClient> client_;
  const std::unique_ptr<Window> window_;
  Own own_ = 0;
  uint64_t tokens_ = 0;
  int64_t next_ = 0;
  int64_t ids_ = 0;
};

int Main(int argc, char** argv) {
  if (const auto missing = testing::RedisServer::Missing()) {
    Expect(false, missing->c_str());
  }
  const auto server = testing::RedisServer::Start();
  Report report("window/redis", argc, argv);
  Bench bench(server->url());
  const size_t rounds = HasFlag(argc, argv, "--quick") ? 3 : 9;
  for (const size_t batch : {1, 16, 128, 500}) {
    const size_t ids = batch == 1 ? 4'000 : 16'000;
    std::vector<double> ours, scripts, plain;
    for (size_t round = 0; round < rounds; round++) {
      ours.push_back(bench.Timed(&Bench::Ours, batch, ids));
      scripts.push_back(bench.Timed(&Bench::Scripts, batch, ids));
      plain.push_back(bench.Timed(&Bench::Plain, batch, ids));
    }
    const std::string name = "batches of " + std::to_string(batch) + " / ";
    report.AddPairs(name + "scripts", scripts, "us", ours);
    report.AddPairs(name + "plain", plain, "us", ours);
  }
  return 0;
}

}  // namespace
}  // namespace oncemq::bench

int main(int argc, char** argv) {
  return oncemq::bench::Main(argc, argv);
}
