// SPDX-License-Identifier: Apache-2.0
// A real Apache Kafka broker as a child process: one JVM, KRaft, broker and controller in one, on
// free ports of 127.0.0.1, its data in a temporary directory. scripts/kafka-fetch brings the jars.
//
//   TEST(Orders, SurviveABrokerRestart) {
//     ONCEMQ_REQUIRE_KAFKA();
//     KafkaBroker& kafka = SharedKafka::Get();
//     KafkaAdmin(kafka.bootstrap()).CreateTopic({.name = "orders", .partitions = 3});
//     ...
//     kafka.Kill9();
//     kafka.Restart();
//   }
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loopback_port.h"
#include "process.h"
#include "temp_dir.h"

namespace oncemq::testing {

struct KafkaBrokerOptions {
  // Lines of server.properties, added to or replacing those of DefaultBrokerProperties().
  std::map<std::string, std::string> properties = {};
  // Most memory that the JVM's heap may take.
  int heap_mb = 512;
  // The quick compiler only: fast to start. A bench wants full speed and empties this.
  std::vector<std::string> jvm_flags = {"-XX:TieredStopAtLevel=1"};
  // How long formatting and starting may take together, on a machine that is busy.
  std::chrono::milliseconds start_timeout = std::chrono::seconds(60);
};

// What each broker starts with: a fast single node whose group coordinator allows short sessions,
// whose cleaner runs at once, and which creates no topic by itself.
std::map<std::string, std::string> DefaultBrokerProperties();

// Every call that can fail throws std::runtime_error, with the end of the broker's log.
//
// Thread safety: one thread at a time, and start it from a thread that stays (see Process).
// Blocks: Start, Restart and Stop, bounded.
class KafkaBroker {
 public:
  // Why no broker can be started here (no Java, no jars); nothing when one can.
  static std::optional<std::string> Missing();

  // Formats fresh data, starts, and returns when clients are served.
  static std::unique_ptr<KafkaBroker> Start(const KafkaBrokerOptions& options = {});
  // Kills what still runs and removes the data.
  ~KafkaBroker();

  std::string bootstrap() const { return broker_port_.address(); }
  // Different for each broker that is started fresh, the same over Restart().
  const std::string& cluster_id() const { return cluster_id_; }
  std::filesystem::path log_file() const { return dir_.path() / "broker.log"; }
  // A folder for each partition, with its log.
  std::filesystem::path data() const { return dir_.path() / "data"; }
  bool Running() { return process_ != nullptr && process_->Running(); }
  // The JVM; call it only while the broker runs.
  Process& process() { return *process_; }

  // The process dies at once. What it acknowledged is in the page cache, so it survives.
  void Kill9();
  // Controlled shutdown: the broker takes leave of its controller first.
  void Stop();
  // Starts again on the same ports and data, after Stop() if it still runs. After Kill9() this
  // lasts as long as broker.session.timeout.ms at least: the controller waits for the dead one.
  void Restart();

 private:
  explicit KafkaBroker(const KafkaBrokerOptions& options);
  std::vector<std::string> JavaCommand(const std::string& main_class) const;
  void WriteProperties() const;
  void Format();
  void Launch();
  void WaitUntilServing();
  [[noreturn]] void Fail(const std::string& what) const;

  KafkaBrokerOptions options_;
  TempDir dir_;
  LoopbackPort broker_port_;
  LoopbackPort controller_port_;
  std::string cluster_id_;
  std::unique_ptr<Process> process_;
};

// One broker for all tests of a program, started by the first one that asks, killed at the end.
// Tests keep apart by topic and group names.
//
// Thread safety: as KafkaBroker.
class SharedKafka {
 public:
  // Brings it back when a test left it dead or paused. A broker that can't start fails every test
  // at once.
  static KafkaBroker& Get();
};

}  // namespace oncemq::testing

// In a test, with require_backend.h.
#define ONCEMQ_REQUIRE_KAFKA() ONCEMQ_REQUIRE_BACKEND(::oncemq::testing::KafkaBroker::Missing())
