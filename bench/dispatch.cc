// SPDX-License-Identifier: Apache-2.0
// What does the core cost per message? One thread plays poll thread and workers: it admits batches
// of 1,000 from eight partitions, hands out runs, and settles a random outstanding one, so that
// completions come out of order. Hashing of the key is part of the price, the broker and the
// handler are not. Prints the median of five rounds.
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench_report.h"
#include "oncemq/base/hash.h"
#include "oncemq/framework/core.h"

namespace oncemq {
namespace {

constexpr uint32_t kPartitions = 8;
constexpr size_t kMessages = 4'000'000;
constexpr size_t kOutstanding = 16;
constexpr uint32_t kBatch = 1'000;
constexpr int kRounds = 5;

struct Setting {
  const char* name;
  uint32_t keys;
  double retries;
  bool ids;
};

struct Source {
  std::vector<std::string> keys;  // a stream of keys, walked round and round
  size_t at = 0;
  int64_t offset = 0;
};

class Dispatch {
 public:
  explicit Dispatch(const Setting& setting) : setting_(setting), core_(Limits()) {
    std::mt19937_64 random(3);
    for (uint32_t i = 0; i < 400'000; i++) {
      const std::string key = "key-" + std::to_string(random() % setting.keys);
      sources_[MixBits(StableHash(key)) % kPartitions].keys.push_back(key);
    }
    const BootTime now{};
    for (uint32_t p = 0; p < kPartitions; p++) {
      AssignFacts facts;
      facts.partition = static_cast<int32_t>(p);
      core_.Assign(p, facts, now);
      core_.OwnerEpochRaised(p, 1, OwnerEpoch{1}, now);
      core_.CommitAnswered(p, 1, CommitReply::kAcknowledged, now);
    }
  }

  // Nanoseconds per message.
  double Round() {
    const double begin = bench::ThreadSeconds();
    size_t done = 0;
    for (size_t turn = 0; done < kMessages; turn++) {
      for (uint32_t p = 0; p < kPartitions; p++) {
        Admit(p);
      }
      TakeBatches();
      for (size_t i = 0; i < (kOutstanding + 1) / 2 && !batches_.empty(); i++) {
        done += SettleOne();
      }
      now_ += microseconds(1'000);
      core_.Tick(now_);
      Answer();
    }
    return (bench::ThreadSeconds() - begin) * 1e9 / static_cast<double>(done);
  }

 private:
  static CoreOptions Limits() {
    CoreOptions options;
    options.in_flight = 65'536;
    options.partition_credit = 8'192;
    options.batch = 256;
    options.lane_batch = 64;
    options.commit_interval = microseconds(100'000);
    return options;
  }

  void Admit(uint32_t p) {
    const uint32_t credit = std::min(kBatch, core_.Credit(p));
    if (credit < 64) {
      return;
    }
    Source& source = sources_[p];
    arrivals_.clear();
    for (uint32_t i = 0; i < credit; i++) {
      const std::string& key = source.keys[source.at++ % source.keys.size()];
      Arrival& arrival = arrivals_.emplace_back();
      arrival.message = &source;
      arrival.id_hash = setting_.ids ? MixBits(next_id_++) : 0;
      arrival.key_hash = ProcessHash(key);
      arrival.offset = source.offset++;
      arrival.bytes = 256;
    }
    core_.Admit(p, arrivals_);
  }

  void TakeBatches() {
    while (batches_.size() < kOutstanding) {
      MessageBatch batch;
      if (!spare_.empty()) {
        batch = std::move(spare_.back());
        spare_.pop_back();
      }
      if (!core_.TakeBatch(batch, now_)) {
        spare_.push_back(std::move(batch));
        return;
      }
      batches_.push_back(std::move(batch));
    }
  }

  size_t SettleOne() {
    std::swap(batches_[random_() % batches_.size()], batches_.back());
    size_t done = 0;
    settlements_.clear();
    for (const BatchItem& item : batches_.back().items) {
      Settlement& settlement = settlements_.emplace_back();
      settlement.slot = item.slot;
      settlement.ticket = item.ticket;
      settlement.fate = DeliveryFate::kApplied;
      if (setting_.retries > 0 && (random_() & 1023) < setting_.retries * 1024) {
        settlement.fate = DeliveryFate::kRetry;
        settlement.wait = microseconds(1'000);
      } else {
        done++;
      }
    }
    core_.Settle(settlements_, now_);
    spare_.push_back(std::move(batches_.back()));
    batches_.pop_back();
    released_.clear();
    core_.TakeReleased(released_);
    return done;
  }

  void Answer() {
    actions_.clear();
    core_.TakeActions(actions_);
    for (const Action& action : actions_) {
      if (const auto* commit = std::get_if<CommitAction>(&action)) {
        core_.CommitAnswered(commit->partition, commit->number, CommitReply::kAcknowledged, now_);
      }
    }
  }

  const Setting setting_;
  Core core_;
  BootTime now_{};
  Source sources_[kPartitions];
  uint64_t next_id_ = 1;
  std::mt19937_64 random_{1};
  std::vector<Arrival> arrivals_;
  std::vector<MessageBatch> batches_;
  std::vector<MessageBatch> spare_;
  std::vector<Settlement> settlements_;
  std::vector<void*> released_;
  std::vector<Action> actions_;
};

int Main(int argc, char** argv) {
  bench::Report report("dispatch", argc, argv);
  double base = 0;
  for (const Setting& setting :
       {Setting{"10k-keys", 10'000, 0, false}, Setting{"1m-keys", 1'000'000, 0, false},
        Setting{"10k-keys-5%-retries", 10'000, 0.05, false},
        Setting{"10k-keys-with-ids", 10'000, 0, true}}) {
    std::vector<double> rounds;
    Dispatch dispatch(setting);
    dispatch.Round();
    for (int i = 0; i < kRounds; i++) {
      rounds.push_back(dispatch.Round());
    }
    const double nanos = bench::Median(rounds);
    if (base == 0) {
      base = nanos;
    }
    // The bound of the first case is absolute; the others are compared with it.
    report.Add(setting.name, nanos, "ns/msg", rounds.empty() || nanos == base ? 150 : base);
  }
  return 0;
}

}  // namespace
}  // namespace oncemq

int main(int argc, char** argv) {
  return oncemq::Main(argc, argv);
}
