// SPDX-License-Identifier: Apache-2.0
// oncemq run against a real broker.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/eventually.h"
#include "support/kafka_admin.h"
#include "support/kafka_broker.h"
#include "support/process.h"
#include "support/require_backend.h"
#include "support/temp_dir.h"
#include "support/test_producer.h"

namespace oncemq {
namespace {

using namespace std::chrono_literals;
using oncemq::testing::Eventually;
using oncemq::testing::KafkaAdmin;
using oncemq::testing::KafkaBroker;
using oncemq::testing::Process;
using oncemq::testing::SharedKafka;
using oncemq::testing::TempDir;
using oncemq::testing::TestProducer;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> Lines(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::string ReadAll(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class RunAgainstKafka : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_KAFKA();
    bootstrap_ = SharedKafka::Get().bootstrap();
    topic_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    KafkaAdmin(bootstrap_).CreateTopic({.name = topic_, .partitions = 2});
    WriteService("engine: memory");
  }

  void WriteService(const std::string& engine) const { WriteService(engine, topic_); }
  void WriteService(const std::string& engine, const std::string& topic) const {
    std::ofstream(dir_.path() / "service.yaml")
        << "kafka: {brokers: \"" << bootstrap_ << "\", group: " << topic_ << ",\n"
        << "        session_timeout: 6s, commit_interval: 100ms}\n"
        << "topics: " << topic << "\n"
        << "window: {" << engine << ", level: guarded, ids: partition_owned,\n"
        << "         id: {header: message-id}}\n"
        << "admin: {socket: " << (dir_.path() / "admin.sock").string() << "}\n";
  }

  // Every id twice: what the handler sees of it once is the window's work.
  void SendTwice(int ids) const {
    TestProducer producer(bootstrap_);
    for (int i = 0; i < ids; i++) {
      const std::string id = "id-" + std::to_string(i);
      for (int copy = 0; copy < 2; copy++) {
        producer.Send(
            {.topic = topic_, .key = id, .value = "secret", .headers = {{"message-id", id}}});
      }
    }
    producer.Flush();
  }

  // Takes the messages from the service.
  std::vector<std::string> ShellLine(const std::string& arguments) const {
    return WatchLine("--consume-without-effects " + arguments);
  }
  std::vector<std::string> WatchLine(const std::string& arguments) const {
    const std::string folder = dir_.path().string();
    return {"/bin/sh", "-c",
            "exec '" ONCEMQ_PROGRAM "' run -c '" + folder + "/service.yaml' 2>'" + folder +
                "/err' " + arguments};
  }

  // Asks the service that runs.
  nlohmann::json Query(const std::string& command) const {
    return QueryAt(command + " --socket '" + dir_.path().string() + "/admin.sock'");
  }
  nlohmann::json QueryAt(const std::string& command) const {
    const std::filesystem::path answer = dir_.path() / "answer";
    Process process({.command = {"/bin/sh", "-c",
                                 "exec '" ONCEMQ_PROGRAM "' " + command + " --json >'" +
                                     answer.string() + "'"}});
    // A partition that is stopped, or not here, has a code of its own.
    const int code = process.Wait(std::chrono::seconds(30)).value_or(-1);
    EXPECT_TRUE(code == 0 || (code == 1 && !command.starts_with("window"))) << command;
    return nlohmann::json::parse(ReadAll(answer), nullptr, false);
  }

  int64_t CommittedTogether() const {
    int64_t sum = 0;
    for (const auto& [partition, commit] : KafkaAdmin(bootstrap_).Committed(topic_, topic_)) {
      sum += commit.offset;
    }
    return sum;
  }

  std::filesystem::path out() const { return dir_.path() / "out"; }

  const TempDir dir_;
  std::string bootstrap_;
  std::string topic_;
};

TEST_F(RunAgainstKafka, PrintShowsEachIdOnceAndNeverThePayload) {
  SendTwice(50);
  Process process({.command = ShellLine("--handler print --json >'" + out().string() + "'")});
  ASSERT_TRUE(Eventually(60s, [&] { return Lines(out()).size() == 50; }));
  ASSERT_TRUE(Eventually(30s, [&] { return CommittedTogether() == 100; }));
  ASSERT_EQ(kill(process.pid(), SIGTERM), 0);
  EXPECT_EQ(process.Wait(30s), 128 + SIGTERM);
  const std::vector<std::string> lines = Lines(out());
  ASSERT_EQ(lines.size(), 51u);
  std::set<std::string> ids;
  for (size_t i = 0; i < 50; i++) {
    const auto line = nlohmann::json::parse(lines[i]);
    EXPECT_EQ(line["topic"], topic_);
    ids.insert(line["id"].get<std::string>());
    EXPECT_EQ(lines[i].find("secret"), std::string::npos);
  }
  EXPECT_EQ(ids.size(), 50u);
  const auto report = nlohmann::json::parse(lines.back());
  EXPECT_EQ(report["deliveries"], 100);
  EXPECT_EQ(report["applied"], 50);
  EXPECT_EQ(report["suppressed"], 50);
  EXPECT_EQ(report["verdict"], "OK");
  EXPECT_EQ(report["clean"], true);
}

TEST_F(RunAgainstKafka, AWatchShowsEachIdOnceAndTakesNoneFromTheService) {
  SendTwice(50);
  for (int watch = 0; watch < 2; watch++) {
    Process process({.command = WatchLine("--handler print >'" + out().string() + "'")});
    ASSERT_TRUE(Eventually(60s, [&] { return Lines(out()).size() == 50; }));
    EXPECT_FALSE(std::filesystem::exists(dir_.path() / "admin.sock"));
    ASSERT_EQ(kill(process.pid(), SIGTERM), 0);
    EXPECT_EQ(process.Wait(30s), 128 + SIGTERM);
    EXPECT_THAT(Lines(dir_.path() / "err").front(),
                HasSubstr("watching " + topic_ + " as group \"" + topic_ + ".watch."));
    EXPECT_EQ(CommittedTogether(), 0);
    std::filesystem::remove(out());
  }
  Process service({.command = ShellLine("--handler count --json >'" + out().string() + "'")});
  ASSERT_TRUE(Eventually(60s, [&] { return CommittedTogether() == 100; }));
  ASSERT_EQ(kill(service.pid(), SIGTERM), 0);
  EXPECT_EQ(service.Wait(30s), 128 + SIGTERM);
  EXPECT_EQ(nlohmann::json::parse(ReadAll(out()))["applied"], 50) << "nothing was taken from it";
}

TEST_F(RunAgainstKafka, ARunningServiceTellsItsPartitionsAndTheIdsThatItKeeps) {
  SendTwice(50);
  Process process({.command = ShellLine("--handler count >'" + out().string() + "'")});
  ASSERT_TRUE(Eventually(60s, [&] { return CommittedTogether() == 100; }));
  nlohmann::json status;
  ASSERT_TRUE(Eventually(30s, [&] {  // the acknowledgement, and the next round
    status = Query("status");
    int64_t committed = 0;
    for (const auto& partition : status["partitions"]) {
      committed += partition["committed"].get<int64_t>();
    }
    return committed == 100 && status["lag"] == 0;
  })) << status;
  EXPECT_EQ(status["group"], topic_);
  EXPECT_EQ(status["counts"]["deliveries"], 100);
  EXPECT_EQ(status["counts"]["applied"], 50);
  EXPECT_EQ(status["counts"]["suppressed"], 50);
  EXPECT_EQ(status["unreached"], "");
  ASSERT_EQ(status["partitions"].size(), 2u);
  for (const auto& partition : status["partitions"]) {
    EXPECT_EQ(partition["topic"], topic_);
    EXPECT_EQ(partition["phase"], "active");
    EXPECT_EQ(partition["frontier"], partition["committed"]);
    EXPECT_EQ(partition["lag"], 0);
    EXPECT_EQ(partition["oldest"], nullptr);
  }
  nlohmann::json explained;
  ASSERT_TRUE(Eventually(30s, [&] {  // the client's first statistics
    explained = Query("explain partition " + topic_ + "/0");
    return explained["client"]["fetch_state"] == "active";
  })) << explained;
  EXPECT_EQ(explained["holder"], "none");
  EXPECT_EQ(explained["trend"], "OK");
  EXPECT_TRUE(explained["client"]["record_ms"].is_number());
  EXPECT_LT(explained["client"]["answer_ms"], 30'000) << "it fetches on";
  EXPECT_THAT(Query("explain partition other/0")["next"].get<std::string>(),
              HasSubstr("does not read the topic other"));
  const nlohmann::json known = Query("explain id id-7");
  EXPECT_EQ(known["window"]["state"], "done");
  EXPECT_EQ(known["place"]["owned"], true);
  EXPECT_EQ(known["open"], nlohmann::json::array());
  EXPECT_EQ(Query("window show id-7")["state"], "done");
  EXPECT_EQ(Query("window show id-99")["state"], "none");
  ASSERT_EQ(kill(process.pid(), SIGTERM), 0);
  EXPECT_EQ(process.Wait(30s), 128 + SIGTERM);
}

#ifdef ONCEMQ_WITH_ROCKSDB
TEST_F(RunAgainstKafka, AServiceOnDiskKnowsAfterItsEndWhatItKnewBefore) {
  WriteService("engine: rocksdb, directory: " + (dir_.path() / "stores").string());
  const std::string file = " -c '" + (dir_.path() / "service.yaml").string() + "'";
  const std::string stores = " --directory '" + (dir_.path() / "stores").string() + "'";
  const auto ids = [](const nlohmann::json& stat) {
    int64_t sum = 0;
    for (const auto& store : stat["stores"]) {
      sum += store["ids_in_memory"].get<int64_t>();
    }
    return sum;
  };
  for (const int round : {1, 2}) {
    SendTwice(50);
    Process process({.command = ShellLine("--handler count --json >'" + out().string() + "'")});
    ASSERT_TRUE(Eventually(60s, [&] { return CommittedTogether() == 100 * round; }));
    nlohmann::json running;
    ASSERT_TRUE(Eventually(30s, [&] {  // the acknowledgement, and the next round
      running = QueryAt("window stat" + file);
      return QueryAt("window stat" + stores) == running;
    })) << "they say whom to ask";
    EXPECT_EQ(running["from"], "service");
    EXPECT_EQ(running["stores"].size(), 2u);
    EXPECT_EQ(ids(running), 50);
    ASSERT_EQ(kill(process.pid(), SIGTERM), 0);
    EXPECT_EQ(process.Wait(30s), 128 + SIGTERM);
    const auto report = nlohmann::json::parse(ReadAll(out()));
    EXPECT_EQ(report["applied"], round == 1 ? 50 : 0);
    EXPECT_EQ(report["suppressed"], round == 1 ? 50 : 100);
    EXPECT_THAT(ReadAll(dir_.path() / "err"), Not(HasSubstr("completing the window")))
        << "the store told it, not the log";
    const auto left = QueryAt("window stat" + file);
    EXPECT_EQ(left["from"], "stores");
    EXPECT_EQ(ids(left), 50);
    for (const auto& store : left["stores"]) {
      const auto& partition = store["partitions"][0];
      EXPECT_EQ(store["topic"], topic_);
      EXPECT_EQ(partition["known_to"], partition["frontier"]);
      EXPECT_EQ(partition["announced"], partition["frontier"]);
    }
    EXPECT_EQ(QueryAt("window show id-7" + file)["state"], "done");
  }
}

// As another process that has the store.
class HeldStore {
 public:
  explicit HeldStore(const std::filesystem::path& store)
      : file_(open((store / "LOCK").c_str(), O_RDWR | O_CLOEXEC)) {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    EXPECT_EQ(fcntl(file_, F_SETLK, &lock), 0);
  }
  ~HeldStore() { close(file_); }
  HeldStore(const HeldStore&) = delete;
  HeldStore& operator=(const HeldStore&) = delete;

 private:
  const int file_;
};

TEST_F(RunAgainstKafka, WhatWaitsAndWhatIsStoppedIsNamedByStatusAndVerdict) {
  const std::filesystem::path stores = dir_.path() / "stores";
  WriteService("engine: rocksdb, directory: stores");  // beside the file
  SendTwice(50);
  const std::string run = "--handler count --json >'" + out().string() + "'";
  const auto state = [&](size_t partition, const char* key) {
    const auto list = Query("status")["partitions"];
    return list.size() > partition ? list[partition][key].get<std::string>() : "";
  };
  {
    Process first({.command = ShellLine(run)});
    ASSERT_TRUE(Eventually(60s, [&] { return CommittedTogether() == 100; }));
    ASSERT_EQ(kill(first.pid(), SIGTERM), 0);
    EXPECT_EQ(first.Wait(30s), 128 + SIGTERM);
  }
  {
    std::optional<HeldStore> held(std::in_place, stores / topic_ / "0");
    std::optional<HeldStore> other(std::in_place, stores / topic_ / "1");
    Process waits({.command = ShellLine(run)});
    ASSERT_TRUE(Eventually(60s, [&] {
      return std::filesystem::exists(dir_.path() / "admin.sock") &&
             state(1, "waiting").find("holds it") != std::string::npos;
    }));
    EXPECT_EQ(Query("window stat")["not_open"].size(), 2u);
    other.reset();
    ASSERT_TRUE(Eventually(60s, [&] { return state(0, "phase") == "active"; }))
        << "what has begun stands first";
    ASSERT_EQ(kill(waits.pid(), SIGTERM), 0);
    EXPECT_EQ(waits.Wait(30s), 128 + SIGTERM);
    EXPECT_THAT(ReadAll(out()), HasSubstr("holds it")) << "it waited until the end";
  }
  std::filesystem::rename(stores / topic_ / "0", stores / "aside");
  std::filesystem::rename(stores / topic_ / "1", stores / topic_ / "0");
  Process stopped({.command = ShellLine(run)});
  ASSERT_TRUE(Eventually(60s, [&] {
    return std::filesystem::exists(dir_.path() / "admin.sock") &&
           Query("status")["stops"].size() == 1;
  })) << "partition 0 finds the store of another; partition 1 makes a new one";
  ASSERT_EQ(kill(stopped.pid(), SIGTERM), 0);
  EXPECT_EQ(stopped.Wait(30s), 7);
  EXPECT_EQ(nlohmann::json::parse(ReadAll(out()))["verdict"], "STOPPED (stops: 1)");
}
#endif

TEST_F(RunAgainstKafka, ATopicThatDoesNotExistIsNamedByStatusUntilItIsCreated) {
  const std::string absent = topic_ + ".absent";
  WriteService("engine: memory", absent);
  Process process({.command = ShellLine("--handler count >'" + out().string() + "'")});
  ASSERT_TRUE(Eventually(60s, [&] {
    return std::filesystem::exists(dir_.path() / "admin.sock") &&
           Query("status")["missing_topics"].size() == 1;
  }));
  nlohmann::json missing;
  const std::string told = "topic " + absent + " has been missing";
  EXPECT_TRUE(Eventually(60s, [&] {
    missing = Query("status --stalled-after 1s");
    return missing["standstills"].dump().find(told) != std::string::npos;
  })) << missing;
  EXPECT_EQ(missing["missing_topics"][0]["topic"], absent);
  EXPECT_EQ(missing["partitions"].size(), 0u);
  KafkaAdmin(bootstrap_).CreateTopic({.name = absent, .partitions = 1});
  nlohmann::json status;
  ASSERT_TRUE(Eventually(60s, [&] {
    status = Query("status");
    return status["missing_topics"].empty() && status["partitions"].size() == 1 &&
           status["lag"] == 0;
  })) << status;
  ASSERT_EQ(kill(process.pid(), SIGTERM), 0);
  EXPECT_EQ(process.Wait(30s), 128 + SIGTERM);
}

TEST_F(RunAgainstKafka, TheDoctorNamesATopicThatDoesNotExistAndMakesNone) {
  const auto examine = [&](int expected) {
    const std::string file = "'" + (dir_.path() / "service.yaml").string() + "'";
    Process process({.command = {"/bin/sh", "-c",
                                 "exec '" ONCEMQ_PROGRAM "' doctor --json " + file + " >'" +
                                     out().string() + "'"}});
    EXPECT_EQ(process.Wait(30s), expected);
    return nlohmann::json::parse(ReadAll(out()))["parts"][1];
  };
  const auto there = examine(0);
  EXPECT_EQ(there["brokers"], 1);
  EXPECT_EQ(there["partitions"][topic_], 2);
  WriteService("engine: memory", topic_ + ".absent");
  for (int i = 0; i < 2; i++) {
    const auto absent = examine(1);
    EXPECT_EQ(absent["state"], "failed");
    EXPECT_THAT(absent["why"].get<std::string>(), HasSubstr("topic " + topic_ + ".absent: "));
  }
}

TEST_F(RunAgainstKafka, ABrokerThatDiesIsToldByStatusUntilItIsBack) {
  SendTwice(20);
  Process process({.command = ShellLine("--handler count >'" + out().string() + "'")});
  ASSERT_TRUE(Eventually(60s, [&] {
    return std::filesystem::exists(dir_.path() / "admin.sock") && Query("status")["lag"] == 0;
  }));
  EXPECT_EQ(Query("status")["standstills"].size(), 0u);
  SharedKafka::Get().Kill9();
  nlohmann::json status;
  ASSERT_TRUE(Eventually(60s, [&] {
    status = Query("status --stalled-after 5s");
    return status["standstills"].dump().find("no broker has answered for ") != std::string::npos;
  })) << status;
  EXPECT_GE(status["unreached_ms"], 5'000) << "as old is the lag";
  EXPECT_THAT(status["unreached"].get<std::string>(), HasSubstr(bootstrap_));
  EXPECT_THAT(ReadAll(dir_.path() / "err"), HasSubstr("no broker answers"));
  SharedKafka::Get().Restart();
  EXPECT_TRUE(Eventually(60s, [&] {
    status = Query("status");
    int active = 0;
    for (const nlohmann::json& partition : status["partitions"]) {
      active += partition["phase"] == "active" ? 1 : 0;
    }
    return active == 2 && status["unreached"] == "" && status["unreached_ms"] == 0;
  })) << status;
  ASSERT_EQ(kill(process.pid(), SIGTERM), 0);
  EXPECT_EQ(process.Wait(30s), 128 + SIGTERM);
}

TEST_F(RunAgainstKafka, ItEndsWhenItsLinesCannotBeWritten) {
  SendTwice(50);
  Process process({.command = ShellLine("--handler print >/dev/full")});
  EXPECT_EQ(process.Wait(60s), 1);
  EXPECT_THAT(ReadAll(dir_.path() / "err"), HasSubstr("output cannot be written, stopping"));
  EXPECT_EQ(CommittedTogether(), 0) << "what was not written was not applied";
}

}  // namespace
}  // namespace oncemq
