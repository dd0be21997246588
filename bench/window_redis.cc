// SPDX-License-Identifier: Apache-2.0
// The window in Redis, level guarded: claim and completion of ids that are all new, in batches, by
// one caller. Next to it, in the same run:
//   scripts   by hand, fenced: a script for each id claims, another one compares the token and ends
//   plain     by hand, unfenced: SET NX PX for each id, then SET PX
// Both send a batch as one pipeline. One connection each, no disk. `partition-owned` is the same
// for ids that their partition owns, with an announcement after each batch. Of these also the size
// of ten million, and the time in which an heir has read them (--ids: how many).
#include <array>
#include <string>
#include <vector>

#include "bench_report.h"
#include "oncemq/base/bytes.h"
#include "oncemq/clients/redis_client.h"
#include "oncemq/dedup/redis_window.h"
#include "oncemq/dedup/store_stat.h"
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
      : client_(*RedisClient::Open(*ParseRedisEndpoint(url), {}, 1)),
        window_(*OpenRedisWindow(url, {.scope = "bench", .level = Level::kGuarded})),
        owned_(OpenOwned(url)) {
    owner_epoch_ = *window_->RaiseOwnerEpoch(0, 3, 0);
    owned_owner_epoch_ = *owned_->RaiseOwnerEpoch(0, 3, 0);
  }

  // As the runtime calls the window for a run of an owned partition.
  void Ours(const Ids& ids) { Finish(*window_, owner_epoch_, ids); }
  void Owned(const Ids& ids) {
    Finish(*owned_, owned_owner_epoch_, ids);
    const Announcement announced{.partition = 3,
                                 .to = next_,
                                 .offset = next_,
                                 .metadata = "m",
                                 .owner_epoch = owned_owner_epoch_};
    Expect(owned_->Announce({&announced, 1}).has_value(), "not announced");
  }
  // One partition with so many ids, and the heir of it.
  void Inherit(const std::string& url, size_t ids, Report& report) {
    const int64_t before = UsedMemory();
    constexpr size_t kAnnounced = 5'000;
    constexpr size_t kPart = 500'000;
    std::vector<double> finished;
    for (size_t i = 0; i < ids; i += kPart) {
      finished.push_back(Timed(&Bench::Owned, kAnnounced, kPart));
    }
    const double bytes = static_cast<double>(UsedMemory() - before) / static_cast<double>(ids);
    const std::string name = std::to_string(ids) + " partition-owned ids: ";
    report.Add(name + "each", Median(finished), "us", 0);
    report.Add(name + "in Redis, each", bytes, "B", 25);
    owned_.reset();
    const double begin = WallSeconds();
    owned_ = OpenOwned(url);
    owned_owner_epoch_ = *owned_->RaiseOwnerEpoch(0, 3, 0);
    report.Add(name + "read by an heir", WallSeconds() - begin, "s", 5);
    const auto stat = owned_->Stat();
    Expect(stat && (*stat)[0].history >= ids, "the heir has not all of them");
    report.Add(
        name + "in memory, each",
        static_cast<double>((*stat)[0].memory_bytes) / static_cast<double>((*stat)[0].history), "B",
        0);
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
  static std::unique_ptr<Window> OpenOwned(const std::string& url) {
    auto window = *OpenRedisWindow(
        url, {.scope = "bench owned", .level = Level::kGuarded, .partition_owned = true});
    Expect(window->Open({.partition = 3, .topic = "t", .owner = "bench"}).has_value(), "not open");
    return window;
  }
  int64_t UsedMemory() {
    const auto info = client_->Run(RedisCommand{"INFO", "memory"});
    return info ? ParseDecimal(RedisInfo(info->text, "used_memory")).value_or(0) : 0;
  }
  void Finish(Window& window, OwnerEpoch owner_epoch, const Ids& ids) {
    std::vector<ClaimRequest> claims;
    std::vector<CompleteRequest> done;
    for (const std::string& id : ids) {
      const Token token{1, ++tokens_};
      const LogTime time{milliseconds(1'700'000'000'000 + next_)};
      claims.push_back({.id = id,
                        .token = token,
                        .at = {0, 3, next_},
                        .owner_epoch = owner_epoch,
                        .time = time,
                        .first = true});
      done.push_back({.id = id, .token = token, .at = {0, 3, next_++}, .time = time});
    }
    std::vector<ClaimAnswer> answers(ids.size());
    std::vector<MarkerChange> changes(ids.size());
    Expect(window.Claim(claims, answers).has_value() &&
               answers.back().answer == ClaimVerdict::kGranted,
           "no claim");
    Expect(window.Complete(done, changes).has_value() && changes.back() == MarkerChange::kMade,
           "not completed");
  }
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
  std::unique_ptr<Window> owned_;
  OwnerEpoch owner_epoch_ = 0;
  OwnerEpoch owned_owner_epoch_ = 0;
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
    std::vector<double> ours, owned, scripts, plain;
    for (size_t round = 0; round < rounds; round++) {
      ours.push_back(bench.Timed(&Bench::Ours, batch, ids));
      owned.push_back(bench.Timed(&Bench::Owned, batch, ids));
      scripts.push_back(bench.Timed(&Bench::Scripts, batch, ids));
      plain.push_back(bench.Timed(&Bench::Plain, batch, ids));
    }
    const std::string name = "batches of " + std::to_string(batch) + " / ";
    report.AddPairs(name + "scripts", scripts, "us", ours);
    report.AddPairs(name + "plain", plain, "us", ours);
    report.AddPairs(name + "plain, partition-owned", plain, "us", owned);
  }
  const size_t most = HasFlag(argc, argv, "--quick") ? 1'000'000 : 10'000'000;
  const auto asked = Argument(argc, argv, "--ids");
  bench.Inherit(server->url(), asked ? std::stoull(*asked) : most, report);
  return 0;
}

}  // namespace
}  // namespace oncemq::bench

int main(int argc, char** argv) {
  return oncemq::bench::Main(argc, argv);
}
