// SPDX-License-Identifier: Apache-2.0
#include "runtime_pipeline.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "oncemq/base/hash.h"
#include "oncemq/base/log.h"
#include "oncemq/framework/run_metrics.h"
#include "support/kafka_admin.h"
#include "support/kafka_broker.h"
#include "support/split_queue_loop.h"
#include "support/test_producer.h"

namespace oncemq::bench {
namespace {

constexpr int kPartitions = 8;
constexpr uint64_t kKeys = 10'000;
constexpr const char* kTopic = "bench";
constexpr const char* kGroup = "bench-runtime";

class Pipeline {
 public:
  Pipeline(const PipelineOptions& options) : options_(options) {
    testing::KafkaBrokerOptions broker;
    broker.heap_mb = 1024;
    broker.jvm_flags.clear();
    kafka_ = testing::KafkaBroker::Start(broker);
    testing::KafkaAdmin(kafka_->bootstrap())
        .CreateTopic({.name = kTopic, .partitions = kPartitions});
    Fill();
  }

  // Messages per second.
  double Floor() {
    if (options_.floor) {
      return options_.floor->rate(NextRun());
    }
    const auto result = testing::RunSplitQueueLoop({.bootstrap = kafka_->bootstrap(),
                                                    .group = NextGroup(),
                                                    .topic = kTopic,
                                                    .partitions = kPartitions,
                                                    .messages = options_.messages});
    return static_cast<double>(options_.messages) / result.seconds;
  }

  double RunPeer(const Peer& peer, const std::string& peers_dir) {
    return bench::RunPeer(peer, peers_dir, NextRun());
  }

  struct Speed {
    double rate = 0;    // messages per second
    double cpu_ns = 0;  // of the process, for a message
  };

  Speed Runtime(uint32_t workers, const NewWindow& new_window, bool scraped = false) {
    RuntimeOptions options;
    options.kafka.brokers = kafka_->bootstrap();
    options.kafka.group = kGroup;
    options.kafka.topics = {kTopic};
    ForgetGroup();
    options.ids_partition_owned = !options_.ids_cross;
    options.workers = workers;
    const std::unique_ptr<Window> window =
        new_window ? new_window({static_cast<uint32_t>(options_.messages), kafka_->cluster_id(),
                                 kGroup, kTopic, kPartitions})
                   : nullptr;
    std::atomic<int64_t> handled{0};
    double began = 0;
    double ended = 0;
    double cpu_began = 0;
    double cpu_ended = 0;
    std::stop_source stop;
    auto runtime =
        oncemq::Runtime::Open(options, window.get(), [&](const Message&, Context&) -> Outcome {
          const int64_t count = handled.fetch_add(1, std::memory_order_relaxed);
          if (count == 0) {
            began = WallSeconds();
            cpu_began = ProcessSeconds();
          } else if (count + 1 == distinct_) {
            ended = WallSeconds();
            cpu_ended = ProcessSeconds();
            stop.request_stop();
          }
          return Done{};
        });
    if (!runtime) {
      std::fprintf(stderr, "%s\n", ToString(runtime.error()).c_str());
      std::exit(1);
    }
    std::optional<std::jthread> scraper;
    if (scraped) {
      scraper.emplace([&](const std::stop_token& end) { ScrapeEachSecond(**runtime, end); });
    }
    const RunReport report = (*runtime)->Run(stop.get_token());
    scraper.reset();
    if (!report.error.empty() || report.counts.applied != distinct_ || !report.counts.Balanced()) {
      std::fprintf(stderr, "the run is not valid: applied %lld of %lld %s\n",
                   static_cast<long long>(report.counts.applied), static_cast<long long>(distinct_),
                   report.error.c_str());
      std::exit(1);
    }
    const auto messages = static_cast<double>(options_.messages);
    return {messages / (ended - began), (cpu_ended - cpu_began) * 1e9 / messages};
  }

 private:
  static void ScrapeEachSecond(const oncemq::Runtime& runtime, const std::stop_token& end) {
    for (int tenths = 0; !end.stop_requested(); tenths++) {
      if (tenths % 10 == 0 && RunMetricsText(runtime.Report(), {.group = kGroup}).empty()) {
        std::exit(1);
      }
      std::this_thread::sleep_for(milliseconds(100));
    }
  }
  // Every run begins with the log; a store belongs to one group.
  void ForgetGroup() {
    if (std::exchange(group_known_, true)) {
      testing::KafkaAdmin(kafka_->bootstrap()).DeleteGroup(kGroup);
    }
  }

  PeerRun NextRun() {
    return {.bootstrap = kafka_->bootstrap(),
            .topic = kTopic,
            .group = NextGroup(),
            .messages = options_.messages,
            .distinct = distinct_};
  }
  std::string NextGroup() { return "g" + std::to_string(groups_++); }

  // The last message of each partition is no copy, so that the last handled one is the end.
  void Fill() {
    testing::TestProducer producer(kafka_->bootstrap());
    std::mt19937_64 random(7);
    const std::string value(256, 'x');
    std::vector<std::vector<std::pair<std::string, std::string>>> recent(kPartitions);
    for (int64_t i = 0; i < options_.messages; i++) {
      const auto p = static_cast<size_t>(random() % kPartitions);
      auto& window = recent[p];
      const bool tail = i + kPartitions * 64 > options_.messages;
      const bool copy = !tail && window.size() > 100 &&
                        static_cast<double>(random() % 1000) < options_.duplicates * 1000;
      std::pair<std::string, std::string> message;
      if (copy) {
        message = window[random() % window.size()];
      } else {
        message = {"key-" + std::to_string(p + kPartitions * (random() % (kKeys / kPartitions))),
                   "id-" + Id(static_cast<uint64_t>(i))};
        distinct_++;
        window.size() < 1000 ? window.push_back(message)
                             : void(window[random() % window.size()] = message);
      }
      producer.Send({.topic = kTopic,
                     .partition = static_cast<int32_t>(p),
                     .key = message.first,
                     .value = value,
                     .headers = {{"message-id", message.second}}});
    }
    producer.Flush(std::chrono::minutes(5));
  }

  static std::string Id(uint64_t number) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(MixBits(number)));
    return text;
  }

  const PipelineOptions options_;
  std::unique_ptr<testing::KafkaBroker> kafka_;
  int64_t distinct_ = 0;
  int groups_ = 0;
  bool group_known_ = false;
};

struct Pairs {
  std::vector<double> floors;
  std::vector<double> values;
  std::vector<double> cpu_ns;  // of each value
  std::vector<double> others;  // empty without another window
  std::vector<double> peers;   // empty without --peers
};

// Floor, runtime and peer in turn. Of two windows each is the first one in every other pair.
Pairs RunPairs(Pipeline& pipeline, const PipelineOptions& options, uint32_t workers,
               const std::optional<std::string>& peers_dir) {
  Pairs pairs;
  for (int i = 0; i < options.pairs; i++) {
    pairs.floors.push_back(pipeline.Floor());
    const bool other_first = i % 2 == 1;
    const bool other = options.other || options.other_scraped;
    const auto run_other = [&] {
      pairs.others.push_back(pipeline.Runtime(workers, options.other, options.other_scraped).rate);
    };
    if (other && other_first) {
      run_other();
    }
    const auto [rate, cpu_ns] = pipeline.Runtime(workers, options.window);
    pairs.values.push_back(rate);
    pairs.cpu_ns.push_back(cpu_ns);
    if (other && !other_first) {
      run_other();
    }
    if (peers_dir) {
      pairs.peers.push_back(pipeline.RunPeer(*options.peer, *peers_dir));
    }
  }
  return pairs;
}

void RunModes(const PipelineOptions& options, const std::optional<std::string>& peers_dir,
              bool inline_only, Report& report) {
  Pipeline pipeline(options);
  pipeline.Floor();  // page cache, JIT
  Pairs all;
  for (const uint32_t workers : options.workers) {
    if (workers > 0 && inline_only) {
      break;
    }
    const Pairs pairs = RunPairs(pipeline, options, workers, peers_dir);
    const std::string mode =
        workers == 0 ? "inline" : std::to_string(workers) + (workers > 1 ? "-workers" : "-worker");
    report.AddPairs(mode + (options.floor ? " / " + options.floor->name : ""), pairs.values,
                    "msg/s", pairs.floors, pairs.cpu_ns);
    if (!pairs.others.empty()) {
      report.AddPairs(mode + ", " + options.other_name, pairs.others, "msg/s", pairs.values);
    }
    if (peers_dir) {
      report.AddPairs(mode + " / " + options.peer->name, pairs.values, "msg/s", pairs.peers);
      all.floors.insert(all.floors.end(), pairs.floors.begin(), pairs.floors.end());
      all.peers.insert(all.peers.end(), pairs.peers.begin(), pairs.peers.end());
    }
  }
  if (peers_dir) {
    report.AddPairs("peer: " + options.peer->name, all.peers, "msg/s", all.floors);
  }
}

}  // namespace

int RunPipelineBench(const std::string& name, PipelineOptions options, int argc, char** argv) {
  StartLogging({.level = LogLevel::kWarn});
  if (HasFlag(argc, argv, "--quick")) {
    options.messages = std::min<int64_t>(options.messages, 1'000'000);
    options.pairs = 3;
  }
  if (const auto messages = Argument(argc, argv, "--messages")) {
    options.messages = std::strtoll(messages->c_str(), nullptr, 10);
  }
  if (const auto pairs = Argument(argc, argv, "--pairs")) {
    options.pairs = std::atoi(pairs->c_str());
  }
  if (HasFlag(argc, argv, "--scraped")) {
    options.other = options.window;
    options.other_name = "scraped / not";
    options.other_scraped = true;
  }
  try {
    const auto peers_dir = options.peer ? PeersDir(*options.peer, argc, argv) : std::nullopt;
    Report report(name, argc, argv);
    RunModes(options, peers_dir, HasFlag(argc, argv, "--inline"), report);
  } catch (const std::exception& error) {  // the broker and its data go before we do
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace oncemq::bench
