// SPDX-License-Identifier: Apache-2.0
// How much runs again after kill -9, with a head that never ends? The first message of a partition
// is tried again and again, 100,000 above it are done by four workers with a handler of 200 us, and
// the member is killed. The next one finds the same commit: once with a window that is gone, once
// with the one on disk. A call appends its offset to a file.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "bench_report.h"
#include "oncemq/base/log.h"
#include "oncemq/dedup/local_window.h"
#include "oncemq/dedup/memory_window.h"
#include "oncemq/framework/runtime.h"
#include "support/kafka_admin.h"
#include "support/kafka_broker.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "support/test_producer.h"

namespace oncemq::bench {
namespace {

constexpr int64_t kAbove = 100'000;
constexpr int64_t kKeys = 10'000;
constexpr uint32_t kWorkers = 4;
constexpr const char* kTopic = "stuck";
constexpr microseconds kHandler{200};
constexpr double kMostRepeated = 10'000;
constexpr std::chrono::minutes kPatience{3};

// Calls by offset, as the file has them.
std::vector<int64_t> CallsIn(const std::string& file) {
  std::vector<int64_t> calls(kAbove + 2);
  std::FILE* const in = std::fopen(file.c_str(), "rb");
  for (int64_t offset = 0; in != nullptr && std::fread(&offset, sizeof(offset), 1, in) == 1;) {
    calls.at(static_cast<size_t>(offset))++;
  }
  if (in != nullptr) {
    std::fclose(in);
  }
  return calls;
}

int64_t CountCalled(const std::vector<int64_t>& calls) {
  return static_cast<int64_t>(
      std::count_if(calls.begin() + 1, calls.end(), [](int64_t times) { return times > 0; }));
}

// Until it is killed. `directory`: of the window; empty: it is in memory.
void RunMember(const std::string& brokers, const std::string& directory, const std::string& file) {
  const int calls = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (calls < 0) {
    throw std::runtime_error(file + ": " + std::strerror(errno));
  }
  RuntimeOptions options;
  options.kafka.brokers = brokers;
  options.kafka.group = directory.empty() ? "bench-memory" : "bench-disk";
  options.kafka.topics = {kTopic};
  options.ids_partition_owned = options.one_host = true;
  options.workers = kWorkers;
  LocalWindowOptions disk;
  disk.directory = directory;
  disk.level = Level::kGuarded;
  const auto window = directory.empty()
                          ? OpenMemoryWindow({.level = Level::kGuarded, .remember = kAbove},
                                             SystemClock::Instance())
                          : OpenPartitionWindows(disk, SystemClock::Instance());
  if (!window) {
    throw std::runtime_error(ToString(window.error()));
  }
  auto runtime =
      Runtime::Open(options, window->get(), [calls](const Message& message, Context&) -> Outcome {
        const int64_t offset = message.offset();
        if (offset == 0) {
          return Retry{.after = milliseconds(100)};
        }
        std::this_thread::sleep_for(kHandler);
        if (write(calls, &offset, sizeof(offset)) != sizeof(offset)) {
          return Reject{"no disk"};
        }
        return Done{};
      });
  if (!runtime) {
    throw std::runtime_error(ToString(runtime.error()));
  }
  const RunReport report = (*runtime)->Run(std::stop_token());
  throw std::runtime_error("the run is not valid: " + report.error);
}

void Send(const std::string& brokers, int64_t from, int64_t to) {
  testing::TestProducer producer(brokers);
  for (int64_t i = from; i < to; i++) {
    producer.Send({.topic = kTopic,
                   .partition = 0,
                   .key = i == 0 ? "stuck" : std::to_string(i % kKeys),
                   .value = std::string(256, 'x'),
                   .headers = {{"message-id", std::to_string(i)}}});
  }
  producer.Flush(kPatience);
}

void AwaitCalls(testing::Process& member, const std::string& file, int64_t called) {
  for (const double began = WallSeconds(); CountCalled(CallsIn(file)) < called;) {
    if (!member.Running() || WallSeconds() - began > std::chrono::seconds(kPatience).count()) {
      throw std::runtime_error("a member does not come to its end");
    }
    std::this_thread::sleep_for(milliseconds(50));
  }
}

// How many calls came again.
double CountRepeated(const std::string& program, bool on_disk) {
  testing::KafkaBrokerOptions broker;
  broker.jvm_flags.clear();
  const auto kafka = testing::KafkaBroker::Start(broker);
  testing::KafkaAdmin(kafka->bootstrap()).CreateTopic({.name = kTopic});
  Send(kafka->bootstrap(), 0, kAbove + 1);
  const testing::TempDir directory;
  const std::string file = directory.path() / "calls";
  const testing::ProcessOptions member{
      .command = {program, "--member", kafka->bootstrap(), "--calls", file, "--window",
                  on_disk ? std::string(directory.path() / "window") : ""},
      .log_file = "/dev/stderr"};
  {
    testing::Process killed(member);
    AwaitCalls(killed, file, kAbove);
    killed.Kill9();
  }
  testing::Process heir(member);
  Send(kafka->bootstrap(), kAbove + 1, kAbove + 2);
  AwaitCalls(heir, file, kAbove + 1);
  std::this_thread::sleep_for(std::chrono::seconds(1));  // for the calls before the last message
  heir.Kill9();
  int64_t repeated = 0;
  const std::vector<int64_t> calls = CallsIn(file);
  for (size_t offset = 1; offset < calls.size(); offset++) {
    repeated += std::max<int64_t>(calls[offset] - 1, 0);
  }
  return static_cast<double>(repeated);
}

int Main(int argc, char** argv) {
  StartLogging({.level = LogLevel::kWarn});
  try {
    if (const auto brokers = Argument(argc, argv, "--member")) {
      RunMember(*brokers, *Argument(argc, argv, "--window"), *Argument(argc, argv, "--calls"));
    }
    Report report("runtime/stuck-head", argc, argv);
    report.Add("100,000 done above, window lost", CountRepeated(argv[0], false), "calls",
               kMostRepeated);
    report.Add("100,000 done above, window on disk", CountRepeated(argv[0], true), "calls", 0);
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
