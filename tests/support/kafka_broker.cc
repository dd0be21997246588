// SPDX-License-Identifier: Apache-2.0
#include "kafka_broker.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <stdexcept>

#include "eventually.h"
#include "oncemq/base/random.h"
#include "rdkafka_handle.h"

namespace oncemq::testing {
namespace {

using std::chrono::milliseconds;
namespace fs = std::filesystem;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Where scripts/kafka-fetch puts the jars.
fs::path JarDir() {
  const std::string given = Environment("ONCEMQ_KAFKA_LIBS");
  if (!given.empty()) {
    return given;
  }
  const std::string xdg = Environment("XDG_CACHE_HOME");
  const fs::path cache = xdg.empty() ? fs::path(Environment("HOME")) / ".cache" : fs::path(xdg);
  return cache / "oncemq" / ("kafka-" ONCEMQ_KAFKA_VERSION) / "libs";
}

std::optional<fs::path> FindJava() {
  std::string places = Environment("PATH");
  if (const std::string home = Environment("JAVA_HOME"); !home.empty()) {
    places = home + "/bin:" + places;
  }
  for (std::size_t begin = 0; begin <= places.size();) {
    const std::size_t end = std::min(places.find(':', begin), places.size());
    const fs::path java = fs::path(places.substr(begin, end - begin)) / "java";
    if (access(java.c_str(), X_OK) == 0) {
      return java;
    }
    begin = end + 1;
  }
  return std::nullopt;
}

// Sorted as by scripts/kafka-fetch: the class archive is valid for exactly this class path.
std::vector<std::string> Jars() {
  std::vector<std::string> jars;
  std::error_code error;  // no directory: no jars
  for (const auto& entry : fs::directory_iterator(JarDir(), error)) {
    if (entry.path().extension() == ".jar") {
      jars.push_back(entry.path().string());
    }
  }
  std::sort(jars.begin(), jars.end());
  return jars;
}

std::string LogTail(const fs::path& file) {
  constexpr std::size_t kLines = 25;
  std::deque<std::string> last;
  std::ifstream log(file);
  for (std::string line; std::getline(log, line);) {
    last.push_back("\n  " + line);
    if (last.size() > kLines) {
      last.pop_front();
    }
  }
  std::string text;
  for (const std::string& line : last) {
    text += line;
  }
  return text;
}

// Kafka reads 22 characters of base64 as 16 bytes; the last one carries two bits only.
std::string NewClusterId() {
  char id[33];
  std::snprintf(id, sizeof(id), "%016llx%016llx", static_cast<unsigned long long>(SecureRandom64()),
                static_cast<unsigned long long>(SecureRandom64()));
  return std::string(id, 21) + "A";
}

}  // namespace

std::map<std::string, std::string> DefaultBrokerProperties() {
  return {
      {"process.roles", "broker,controller"},
      {"node.id", "1"},
      {"listener.security.protocol.map", "BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT"},
      {"controller.listener.names", "CONTROLLER"},
      {"inter.broker.listener.name", "BROKER"},
      {"auto.create.topics.enable", "false"},
      {"num.network.threads", "2"},
      {"num.io.threads", "4"},
      {"num.recovery.threads.per.data.dir", "1"},
      // A broker that was killed comes back when its old session is over.
      {"broker.session.timeout.ms", "2000"},
      {"broker.heartbeat.interval.ms", "200"},
      {"offsets.topic.num.partitions", "1"},
      {"offsets.topic.replication.factor", "1"},
      {"transaction.state.log.num.partitions", "1"},
      {"transaction.state.log.replication.factor", "1"},
      {"transaction.state.log.min.isr", "1"},
      {"share.coordinator.state.topic.num.partitions", "1"},
      {"share.coordinator.state.topic.replication.factor", "1"},
      {"share.coordinator.state.topic.min.isr", "1"},
      {"group.initial.rebalance.delay.ms", "0"},
      {"group.min.session.timeout.ms", "500"},
      {"group.consumer.min.session.timeout.ms", "500"},
      {"group.consumer.min.heartbeat.interval.ms", "100"},
      {"log.cleaner.backoff.ms", "100"},
      {"log.cleaner.dedupe.buffer.size", "8388608"},
      {"log.retention.check.interval.ms", "500"},
      {"log.initial.task.delay.ms", "100"},
      {"log.segment.delete.delay.ms", "1000"},
  };
}

std::optional<std::string> KafkaBroker::Missing() {
  if (!FindJava().has_value()) {
    return "there is no java in PATH (17 or newer is needed)";
  }
  const std::vector<std::string> jars = Jars();
  const bool has_kafka = std::any_of(jars.begin(), jars.end(), [](const std::string& jar) {
    return jar.find("/kafka_2.13-") != std::string::npos;
  });
  if (!has_kafka) {
    return "Apache Kafka's jars are not in " + JarDir().string() + " (run scripts/kafka-fetch)";
  }
  return std::nullopt;
}

std::unique_ptr<KafkaBroker> KafkaBroker::Start(const KafkaBrokerOptions& options) {
  if (const auto missing = Missing(); missing.has_value()) {
    throw std::runtime_error(*missing);
  }
  std::unique_ptr<KafkaBroker> broker(new KafkaBroker(options));
  broker->WriteProperties();
  broker->Format();
  broker->Launch();
  return broker;
}

KafkaBroker::KafkaBroker(const KafkaBrokerOptions& options)
    : options_(options), cluster_id_(NewClusterId()) {}

KafkaBroker::~KafkaBroker() = default;

std::vector<std::string> KafkaBroker::JavaCommand(const std::string& main_class) const {
  std::string class_path;
  for (const std::string& jar : Jars()) {
    class_path += (class_path.empty() ? "" : ":") + jar;
  }
  std::vector<std::string> command = {
      FindJava().value_or("java").string(),
      "-Xmx" + std::to_string(options_.heap_mb) + "m",
      "-XX:+UseSerialGC",
      "-XX:-UsePerfData",
      "-Xshare:auto",
      "-Djava.io.tmpdir=" + dir_.path().string(),
      "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
  };
  // Halves the start. The JVM ignores an archive that doesn't fit.
  const fs::path archive = JarDir().parent_path() / "classes.jsa";
  if (fs::exists(archive)) {
    command.push_back("-XX:SharedArchiveFile=" + archive.string());
  }
  command.insert(command.end(), options_.jvm_flags.begin(), options_.jvm_flags.end());
  command.insert(command.end(), {"-cp", class_path, main_class});
  return command;
}

void KafkaBroker::WriteProperties() const {
  auto properties = DefaultBrokerProperties();
  properties["log.dirs"] = data().string();
  properties["listeners"] =
      "BROKER://" + broker_port_.address() + ",CONTROLLER://" + controller_port_.address();
  properties["advertised.listeners"] = "BROKER://" + broker_port_.address();
  properties["controller.quorum.voters"] = "1@" + controller_port_.address();
  for (const auto& [name, value] : options_.properties) {
    properties[name] = value;
  }
  std::ofstream file(dir_.path() / "server.properties");
  for (const auto& [name, value] : properties) {
    file << name << "=" << value << "\n";
  }
  if (!file.flush()) {
    Fail("cannot write the broker's properties");
  }
}

void KafkaBroker::Format() {
  auto command = JavaCommand("kafka.tools.StorageTool");
  const std::string config = (dir_.path() / "server.properties").string();
  command.insert(command.end(), {"format", "-t", cluster_id_, "-c", config});
  Process format({.command = command, .log_file = log_file()});
  if (format.Wait(options_.start_timeout) != 0) {
    Fail("the broker's storage can't be formatted");
  }
}

void KafkaBroker::Launch() {
  auto command = JavaCommand("kafka.Kafka");
  command.push_back((dir_.path() / "server.properties").string());
  process_ = std::make_unique<Process>(ProcessOptions{.command = command, .log_file = log_file()});
  WaitUntilServing();
}

// The port opens before the controller has let the broker in; metadata names it only after that.
void KafkaBroker::WaitUntilServing() {
  const ClientPtr client = MakeClient(RD_KAFKA_PRODUCER, {{"bootstrap.servers", bootstrap()},
                                                          {"reconnect.backoff.ms", "10"},
                                                          {"reconnect.backoff.max.ms", "50"}});
  const bool settled = Eventually(options_.start_timeout, [&] {
    if (!process_->Running()) {
      return true;
    }
    const MetadataPtr metadata = FetchMetadata(client.get(), milliseconds(200));
    return metadata != nullptr && metadata->broker_cnt > 0;
  });
  if (!settled || !process_->Running()) {
    Fail(settled ? "the broker ended while it started" : "the broker doesn't serve in time");
  }
}

void KafkaBroker::Fail(const std::string& what) const {
  throw std::runtime_error(what + "; its log ends with:" + LogTail(log_file()));
}

void KafkaBroker::Kill9() {
  if (process_ != nullptr) {
    process_->Kill9();
  }
}

void KafkaBroker::Stop() {
  if (process_ != nullptr) {
    process_->Terminate(std::chrono::seconds(20));
  }
}

void KafkaBroker::Restart() {
  Stop();
  Launch();
}

KafkaBroker& SharedKafka::Get() {
  static std::unique_ptr<KafkaBroker> broker;
  static std::string failure;
  if (!failure.empty()) {
    throw std::runtime_error("the shared broker failed before: " + failure);
  }
  try {
    if (broker == nullptr) {
      broker = KafkaBroker::Start();
    } else if (!broker->Running()) {
      broker->Restart();
    } else {
      broker->process().Continue();
    }
  } catch (const std::exception& error) {
    failure = error.what();
    throw;
  }
  return *broker;
}

}  // namespace oncemq::testing
