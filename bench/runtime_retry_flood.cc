// SPDX-License-Identifier: Apache-2.0
// What do failing keys cost the healthy ones? Four workers with a handler of 50 us, a window in
// memory, a real broker. Three keys of ten fail for the whole time, or take no time, in turn: the
// rate of the healthy messages. Then 10,000 keys wait at once on an idle member: how late
// is each one tried?
#include <algorithm>
#include <atomic>
#include <charconv>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "bench_report.h"
#include "oncemq/base/log.h"
#include "oncemq/dedup/memory_window.h"
#include "oncemq/framework/runtime.h"
#include "support/kafka_admin.h"
#include "support/kafka_broker.h"
#include "support/test_producer.h"

namespace oncemq::bench {
namespace {

constexpr int kPartitions = 8;
constexpr uint32_t kKeys = 10'000;
constexpr uint32_t kWorkers = 4;
constexpr const char* kGroup = "bench-retry";
constexpr microseconds kHandler{50};
constexpr double kMostLate = 20;  // ms

bool Fails(uint32_t key) {
  return key % 10 < 3;
}

class RetryFlood {
 public:
  explicit RetryFlood(uint32_t messages) : messages_(messages) {
    testing::KafkaBrokerOptions broker;
    broker.heap_mb = 1024;
    broker.jvm_flags.clear();
    kafka_ = testing::KafkaBroker::Start(broker);
    Fill("flood", messages);
    Fill("due", kKeys);
    for (uint32_t i = 0; i < messages; i++) {
      healthy_ += Fails(i % kKeys) ? 0 : 1;
    }
  }

  // Healthy messages per second. `late`: of each further attempt, in ms.
  double Rate(bool flood, std::vector<double>& late) {
    std::atomic<int64_t> done{0};
    double began = 0;
    double ended = 0;
    std::stop_source stop;
    due_.assign(kKeys, 0);
    attempts_.assign(kKeys, {});
    Run("flood", stop, [&](uint32_t key, uint32_t attempt) -> Outcome {
      if (Fails(key) && !flood) {
        return Done{};
      }
      std::this_thread::sleep_for(kHandler);
      if (Fails(key)) {
        return Fail(key, milliseconds(100) * (1 << std::min(attempt - 1, 8u)));
      }
      const int64_t count = done.fetch_add(1);
      if (count == 0) {
        began = WallSeconds();
      } else if (count + 1 == healthy_) {
        ended = WallSeconds();
        stop.request_stop();
      }
      return Done{};
    });
    TakeLate(late);
    return static_cast<double>(healthy_) / (ended - began);
  }

  // Of 10,000 keys that wait at once, due within one second.
  void DueTimes(std::vector<double>& late) {
    std::atomic<uint32_t> done{0};
    std::stop_source stop;
    due_.assign(kKeys, 0);
    attempts_.assign(kKeys, {});
    Run("due", stop, [&](uint32_t key, uint32_t) -> Outcome {
      if (due_[key] == 0) {
        return Fail(key, milliseconds(2'000 + key % 1'000));
      }
      NoteLate(key);
      if (done.fetch_add(1) + 1 == kKeys) {
        stop.request_stop();
      }
      return Done{};
    });
    TakeLate(late);
  }

 private:
  template <class Handler>
  void Run(const std::string& topic, std::stop_source& stop, Handler handler) {
    if (std::exchange(group_known_, true)) {
      testing::KafkaAdmin(kafka_->bootstrap()).DeleteGroup(kGroup);
    }
    RuntimeOptions options;
    options.kafka.brokers = kafka_->bootstrap();
    options.kafka.group = kGroup;
    options.kafka.topics = {topic};
    options.ids_partition_owned = true;
    options.workers = kWorkers;
    options.core.waiting.messages = messages_;
    const auto window = OpenMemoryWindow({.level = Level::kGuarded, .remember = messages_},
                                         SystemClock::Instance());
    if (!window) {
      throw std::runtime_error(ToString(window.error()));
    }
    auto runtime = Runtime::Open(options, window->get(),
                                 [&](const Message& message, Context& context) -> Outcome {
                                   const std::string_view text = *message.key();
                                   uint32_t key = 0;
                                   std::from_chars(text.data(), text.data() + text.size(), key);
                                   return handler(key, context.attempt());
                                 });
    if (!runtime) {
      throw std::runtime_error(ToString(runtime.error()));
    }
    const RunReport report = (*runtime)->Run(stop.get_token());
    if (!report.error.empty() || !report.counts.Balanced()) {
      throw std::runtime_error("the run is not valid: " + report.error);
    }
  }

  // A key is with one worker at a time.
  Outcome Fail(uint32_t key, milliseconds after) {
    NoteLate(key);
    due_[key] = WallSeconds() + static_cast<double>(after.count()) / 1e3;
    return Retry{.after = after};
  }
  void NoteLate(uint32_t key) {
    if (due_[key] != 0) {
      attempts_[key].push_back((WallSeconds() - due_[key]) * 1e3);
    }
  }
  void TakeLate(std::vector<double>& late) {
    for (const std::vector<double>& of_key : attempts_) {
      late.insert(late.end(), of_key.begin(), of_key.end());
    }
  }

  void Fill(const std::string& topic, uint32_t messages) {
    testing::KafkaAdmin(kafka_->bootstrap())
        .CreateTopic({.name = topic, .partitions = kPartitions});
    testing::TestProducer producer(kafka_->bootstrap());
    const std::string value(256, 'x');
    for (uint32_t i = 0; i < messages; i++) {
      const uint32_t key = i % kKeys;
      producer.Send({.topic = topic,
                     .partition = static_cast<int32_t>(key % kPartitions),
                     .key = std::to_string(key),
                     .value = value,
                     .headers = {{"message-id", std::to_string(i)}}});
    }
    producer.Flush(std::chrono::minutes(5));
  }

  const uint32_t messages_;
  std::unique_ptr<testing::KafkaBroker> kafka_;
  int64_t healthy_ = 0;
  bool group_known_ = false;
  std::vector<double> due_;                    // by key, in seconds; 0: not tried yet
  std::vector<std::vector<double>> attempts_;  // by key: how late each further one came, in ms
};

double Quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values.empty()
             ? 0
             : values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

int Main(int argc, char** argv) {
  StartLogging({.level = LogLevel::kWarn});
  const bool quick = HasFlag(argc, argv, "--quick");
  try {
    Report report("runtime/retry-flood", argc, argv);
    RetryFlood flood(quick ? 100'000 : 400'000);
    std::vector<double> without;
    std::vector<double> with;
    std::vector<double> late;
    for (int pair = 0; pair < (quick ? 1 : 3); pair++) {
      std::vector<double> none;
      without.push_back(flood.Rate(false, none));
      with.push_back(flood.Rate(true, late));
    }
    report.AddPairs("healthy, 30 % of the keys fail", with, "msg/s", without);
    report.Add("lateness meanwhile, median", Quantile(late, 0.5), "ms", kMostLate);
    std::vector<double> idle;
    flood.DueTimes(idle);
    report.Add("10,000 keys due, median", Quantile(idle, 0.5), "ms", kMostLate);
    report.Add("10,000 keys due, 99.9th", Quantile(idle, 0.999), "ms", kMostLate);
  } catch (const std::exception& error) {  // the broker and its data go before we do
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace oncemq::bench

int main(int argc, char** argv) {
  return oncemq::bench::Main(argc, argv);
}
