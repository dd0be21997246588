// SPDX-License-Identifier: Apache-2.0
// A real Prometheus watches services on the real broker: what it has scraped balances with the
// ledger, each alert fires in its situation and in no other, and the board has data.
#include <gmock/gmock.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <set>

#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"
#include "oncemq/framework/park.h"
#include "oncemq/framework/service_file.h"
#include "support/eventually.h"
#include "support/kafka_admin.h"
#include "support/kafka_broker.h"
#include "support/postgres_server.h"
#include "support/process.h"
#include "support/prometheus_server.h"
#include "support/redis_server.h"
#include "support/test_producer.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int32_t kPartitions = 6;

std::string FileText(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string Replaced(std::string text, const char* pattern, const char* by) {
  return std::regex_replace(text, std::regex(pattern), by);
}

// The rules of the repository, with seconds in place of minutes. The order of their times stays.
std::string QuickRules() {
  std::string rules = FileText(std::string(ONCEMQ_SOURCE_DIR) + "/docker/prometheus/alerts.yml");
  rules = Replaced(rules, "for: (5m|10m)", "for: 5s");
  rules = Replaced(rules, "for: [12]m", "for: 3s");
  rules = Replaced(rules, "\\[15m\\]", "[10s]");
  rules = Replaced(rules, "offset 15m", "offset 10s");
  rules = Replaced(rules, "> 300", "> 8");
  return Replaced(rules, "> 60", "> 6");
}

class Watch : public ::testing::Test {
 protected:
  struct Service {
    LoopbackPort port;  // of its own, so that no counter begins anew
    std::unique_ptr<Process> process;
    std::filesystem::path log;
  };

  void SetUp() override {
    ONCEMQ_REQUIRE_KAFKA();
    ONCEMQ_REQUIRE_POSTGRES();
    ONCEMQ_REQUIRE_REDIS();
    ONCEMQ_REQUIRE_PROMETHEUS();
    topic_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    bootstrap_ = SharedKafka::Get().bootstrap();
    producer_.emplace(bootstrap_);
    KafkaAdmin(bootstrap_).CreateTopic({.name = topic_, .partitions = kPartitions});
    poison_ = dir_.path() / "poison";
    std::ofstream(poison_) << "closed";
  }

  void InPostgres() {
    postgres_ = PostgresServer::Start();
    ASSERT_TRUE(MigratePostgresWindow(postgres_->url(), "oncemq"));
    ledger_ = *OpenPostgres(*ParsePostgresEndpoint(postgres_->url()), {.call = seconds(60)}, 1);
    ASSERT_TRUE(ledger_->Run({"CREATE TABLE effects (n bigserial PRIMARY KEY, id bigint)"}));
    window_ = "{engine: postgres, at: \"" + postgres_->url() +
              "\", level: atomic, ids: partition_owned, id: {header: message-id}}";
  }
  // It forgets with its process, and no log brings the ids back.
  void InRedis() {
    redis_ = RedisServer::Start();
    window_ = "{engine: redis, at: \"" + redis_->url() +
              "/0\", level: opaque, ids: crossing, catch_up: 0, incomplete: run, "
              "id: {header: message-id}}";
    in_redis_ = true;
  }

  std::filesystem::path ServiceFile(const std::string& address, int number) {
    const std::filesystem::path file = dir_.path() / ("service-" + std::to_string(number));
    std::ofstream(file) << "kafka: {brokers: \"" << bootstrap_ << "\", group: " << topic_
                        << ", session_timeout: 6s}\ntopics: [" << topic_ << "]\nwindow: " << window_
                        << "\nadmin: {listen: \"" << address
                        << "\"}\nreject: park\nretry: {first: 50ms, most: 100ms}\n"
                        << "runtime: {workers: 2}\n";
    return file;
  }

  Service& Start() {
    Service& service = *services_.emplace_back(std::make_unique<Service>());
    const auto number = static_cast<int>(services_.size());
    service.log = dir_.path() / ("log-" + std::to_string(number));
    const std::filesystem::path file = ServiceFile(service.port.address(), number);
    if (number == 1) {
      const auto options = LoadService(file.string());
      EXPECT_TRUE(options) << ToString(options.error());
      EXPECT_TRUE(CreateParkTopics(options->runtime, seconds(20)));
    }
    ProcessOptions how{.command = {ONCEMQ_WATCHED_SERVICE, "-c", file.string()},
                       .log_file = service.log};
    how.environment["ONCEMQ_POISON"] = poison_.string();
    if (in_redis_) {
      how.environment["ONCEMQ_IN_REDIS"] = "1";
    }
    service.process = std::make_unique<Process>(how);
    prometheus_->Scrape(Targets());
    return service;
  }
  // Also those of members that are gone: their last scrape counts.
  std::vector<std::string> Targets() const {
    std::vector<std::string> targets;
    for (const auto& service : services_) {
      targets.push_back(service->port.address());
    }
    return targets;
  }

  void Send(const std::string& id, const char* value, int32_t partition, int64_t time_ms = 0) {
    producer_->Send({.topic = topic_,
                     .partition = partition,
                     .key = "k" + std::to_string(partition),
                     .value = value,
                     .headers = {{"message-id", id}},
                     .timestamp_ms = time_ms});
    sent_[partition]++;
  }
  bool AllCommitted() {
    producer_->Flush();
    return Eventually(seconds(120), [&] {
      const auto committed = KafkaAdmin(bootstrap_).Committed(topic_, topic_);
      return std::all_of(sent_.begin(), sent_.end(), [&](const auto& sent) {
        const auto commit = committed.find(sent.first);
        return commit != committed.end() && commit->second.offset == sent.second;
      });
    });
  }
  double Value(const std::string& expression) const {
    const auto samples = prometheus_->Query(expression);
    return samples.size() == 1 ? samples[0].value : -1;
  }
  // The alert comes, alone, and goes once the situation is over.
  void ExpectAlert(const std::string& name, const std::function<void()>& end) {
    EXPECT_TRUE(Eventually(seconds(60), [&] { return prometheus_->Firing().contains(name); }))
        << name << FileText(services_.back()->log);
    SleepFor(seconds(4));
    EXPECT_THAT(prometheus_->Firing(), ElementsAre(name));
    end();
    EXPECT_TRUE(Eventually(seconds(60), [&] { return prometheus_->Firing().empty(); }))
        << name << " stays";
  }
  void ExpectPeace() {
    SleepFor(seconds(5));
    EXPECT_THAT(prometheus_->Firing(), IsEmpty());
  }

  const TempDir dir_;
  std::filesystem::path poison_;
  std::string topic_;
  std::string bootstrap_;
  std::string window_;
  bool in_redis_ = false;
  std::optional<TestProducer> producer_;
  std::map<int32_t, int64_t> sent_;
  std::unique_ptr<PostgresServer> postgres_;
  std::unique_ptr<SqlClient> ledger_;
  std::unique_ptr<RedisServer> redis_;
  std::unique_ptr<PrometheusServer> prometheus_;
  std::vector<std::unique_ptr<Service>> services_;
};

TEST_F(Watch, ScrapedCountersBalanceWithTheLedgerThroughAStorm) {
  constexpr int kIds = 12'000;
  constexpr int kActs = 8;
  InPostgres();
  prometheus_ = PrometheusServer::Start(QuickRules());
  std::mt19937_64 random(1);
  std::vector<Service*> members{&Start(), &Start(), &Start()};
  int sent = 0;
  const auto send_to = [&](int end) {
    for (; sent < end; sent++) {
      const char* value = sent % 500 == 7 ? "refused" : sent % 50 == 3 ? "flaky" : "x";
      for (int copy = 0; copy < (sent % 10 == 3 ? 2 : 1); copy++) {
        Send(std::to_string(sent), value, sent % kPartitions);
      }
    }
    producer_->Flush();
  };
  for (int act = 1; act <= kActs; act++) {
    send_to(kIds / kActs * act);
    SleepFor(seconds(3));
    Service*& member = members[random() % members.size()];
    act % 2 == 1 ? member->process->Kill9() : member->process->Signal(SIGTERM);
    member = &Start();
  }
  ASSERT_TRUE(AllCommitted()) << FileText(services_.back()->log);
  SleepFor(seconds(4));
  const auto rows = ledger_->Run({"SELECT count(*), count(DISTINCT id) FROM effects"});
  ASSERT_TRUE(rows);
  const double effects = std::stod(*rows->rows[0][0]);
  EXPECT_EQ(rows->rows[0][0], rows->rows[0][1]) << "an effect is doubled";
  int64_t offsets = 0;
  for (const auto& [partition, count] : sent_) {
    offsets += count;
  }
  // Durable sums, by the present owners.
  EXPECT_EQ(Value(R"(sum(max by (partition) (oncemq_offsets{outcome="applied"})))"), effects);
  EXPECT_EQ(Value("sum(max by (partition, outcome) (oncemq_offsets))"), offsets);
  EXPECT_EQ(Value("sum(max by (partition) (oncemq_committed))"), offsets);
  EXPECT_EQ(Value("sum(oncemq_lag_messages)"), 0);
  // The counters of all members, also of killed ones. Only what they did after their last scrape is
  // missing.
  const double applied =
      Value(R"(sum(max_over_time(oncemq_deliveries_total{outcome="applied"}[10m])))");
  EXPECT_LE(applied, effects);
  EXPECT_GE(applied, effects / 2);
  EXPECT_EQ(Value("max(max_over_time(abs(oncemq_verdict_difference)[10m:1s]))"), 0)
      << "in each scrape of each member";
  EXPECT_GT(Value("sum(oncemq_parked)"), 0);
  EXPECT_EQ(Value("count(oncemq_build_info)"), 3) << "one for each living member";
  RecordProperty("scraped", std::to_string(applied));
  RecordProperty("effects", std::to_string(effects));

  const auto board = nlohmann::json::parse(
      FileText(std::string(ONCEMQ_SOURCE_DIR) + "/docker/grafana/dashboard.json"));
  size_t queries = 0;
  for (const auto& panel : board["panels"]) {
    for (const auto& target : panel["targets"]) {
      if (target["expr"].get<std::string>().starts_with("sum by (instance) (oncemq_window_")) {
        continue;  // of windows on disk
      }
      std::string query = Replaced(target["expr"], "\\$group", topic_.c_str());
      query = Replaced(std::move(query), "\\$__rate_interval", "10s");
      EXPECT_THAT(prometheus_->Query(query), Not(IsEmpty())) << query;
      queries++;
    }
  }
  EXPECT_GT(queries, 10u);
}

TEST_F(Watch, EachAlertFiresInItsSituationAndInNoOther) {
  InPostgres();
  prometheus_ = PrometheusServer::Start(QuickRules());
  Start();
  for (int id = 0; id < 600; id++) {
    Send(std::to_string(id), "x", id % kPartitions);
  }
  ASSERT_TRUE(AllCommitted()) << FileText(services_.back()->log);
  ExpectPeace();

  // The store is away.
  postgres_->Kill9();
  Send("1000", "x", 0);
  producer_->Flush();
  ExpectAlert("OncemqStoreAway", [&] { postgres_->Restart(); });
  ASSERT_TRUE(AllCommitted());
  ExpectPeace();

  // A message fails for ever.
  Send("1001", "poison", 1);
  Send("1002", "x", 1);
  producer_->Flush();
  ExpectAlert("OncemqPoison", [&] { std::filesystem::remove(poison_); });
  ASSERT_TRUE(AllCommitted());

  // More comes than is handled.
  const int64_t long_ago =
      SystemClock::Instance().Wall().micros / 1'000 - milliseconds(seconds(600)).count();
  for (int id = 2'000; id < 3'000; id++) {
    Send(std::to_string(id), "slow", 2, long_ago);
  }
  producer_->Flush();
  ExpectAlert("OncemqLag", [] {});
  ASSERT_TRUE(AllCommitted());

  // A message is parked.
  Send("4000", "refused", 3);
  producer_->Flush();
  ExpectAlert("OncemqParked", [] {});
  EXPECT_EQ(services_[0]->process->Terminate(seconds(30)), 128 + SIGTERM);
}

TEST_F(Watch, DoubtAndAForgetfulStoreRaiseTheirAlerts) {
  InRedis();
  prometheus_ = PrometheusServer::Start(QuickRules());
  Start();
  for (int id = 0; id < 600; id++) {
    Send(std::to_string(id), "x", id % kPartitions);
  }
  ASSERT_TRUE(AllCommitted()) << FileText(services_.back()->log);
  ExpectPeace();

  // An earlier attempt may have had its effect.
  Send("1000", "flaky", 0);
  producer_->Flush();
  ExpectAlert("OncemqUncertain", [] {});
  ASSERT_TRUE(AllCommitted());

  redis_->Kill9();
  redis_->Restart();
  Send("1001", "x", 1);
  producer_->Flush();
  const std::set<std::string> both{"OncemqUncertain", "OncemqUnprotected"};
  EXPECT_TRUE(Eventually(seconds(60), [&] { return prometheus_->Firing() == both; }))
      << "the message in hand is in doubt, too" << FileText(services_.back()->log);
}

}  // namespace
}  // namespace oncemq::testing
