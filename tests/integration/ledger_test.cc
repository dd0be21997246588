// SPDX-License-Identifier: Apache-2.0
// examples/ledger as its README runs it, on a real broker: writers that share PostgreSQL, copies
// that cross partitions, a kill -9, the closing by two processes; and the same program on RocksDB.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "oncemq/base/bytes.h"
#include "oncemq/base/clock.h"
#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/local_window.h"
#include "postings.h"
#include "support/eventually.h"
#include "support/kafka_admin.h"
#include "support/kafka_broker.h"
#include "support/postgres_server.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "support/test_producer.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr char kTopic[] = "settlements";
constexpr char kGroup[] = "ledger";
constexpr char kServiceFile[] = ONCEMQ_SOURCE_DIR "/examples/ledger/service.yaml";
constexpr int kPartitions = 4;
constexpr int kAccounts = 10;
constexpr seconds kPatience{120};

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The events are of yesterday, so that their day can be closed.
int64_t Yesterday() {
  constexpr int64_t kDay = 86'400'000;
  static const int64_t at = SystemClock::Instance().Wall().micros / 1'000 - kDay;
  return at;
}

std::string Account(int number) {
  return "account-" + std::to_string(number % kAccounts);
}

class KafkaLedger : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_KAFKA();
    KafkaAdmin(Bootstrap()).CreateTopic({.name = kTopic, .partitions = kPartitions});
    producer_ = std::make_unique<TestProducer>(Bootstrap());
  }
  void TearDown() override {
    writers_.clear();
    if (producer_) {
      KafkaAdmin admin(Bootstrap());
      admin.DeleteTopic(kTopic);
      EXPECT_TRUE(admin.WaitUntilEmpty(kGroup, seconds(60)));
      admin.DeleteGroup(kGroup);
    }
  }

  static std::string Bootstrap() { return SharedKafka::Get().bootstrap(); }

  std::string LogOf(size_t writer) const {
    return TextOf(dir_.path() / std::to_string(writer) / "log");
  }
  // Each on a directory of its own, as on a host of its own.
  void StartWriter(const std::filesystem::path& file, const std::string& database) {
    const auto home = dir_.path() / std::to_string(writers_.size());
    std::filesystem::create_directories(home / "build");
    writers_.push_back(std::make_unique<Process>(ProcessOptions{
        .command = {ONCEMQ_LEDGER, "-c", file},
        .environment = {{"BROKER", Bootstrap()}, {"PWD", home}, {"LEDGER_DB", database}},
        .log_file = home / "log"}));
  }
  // The lines of all journals, by id. After a crash an id may stand there twice.
  std::map<std::string, std::string> Refused() const {
    std::map<std::string, std::string> refused;
    for (size_t i = 0; i < writers_.size(); i++) {
      std::ifstream journal(dir_.path() / std::to_string(i) / "build/ledger.refused");
      for (std::string line; std::getline(journal, line);) {
        const size_t begin = line.find("\"id\":\"") + 6;
        refused.emplace(line.substr(begin, line.find('"', begin) - begin), line);
      }
    }
    return refused;
  }

  // `shift`: into another partition than its account's.
  void Send(const std::string& id, const ledger::Event& event, int shift = 0) {
    const std::string key = ledger::KeyOf(event);
    const std::string value = ledger::Encode(event);
    producer_->Send({.topic = kTopic,
                     .partition = (key.back() - '0' + shift) % kPartitions,
                     .key = key,
                     .value = value,
                     .headers = {{"message-id", id}},
                     .timestamp_ms = Yesterday()});
  }
  void OpenAccounts() {
    for (int i = 0; i < kAccounts; i++) {
      Send("open-" + std::to_string(i), ledger::OpenAccount{Account(i)});
      Send("deposit-" + std::to_string(i), ledger::Move{"outside", Account(i), 10'000});
    }
    producer_->Flush();
  }
  // Every fifth comes twice.
  void SendTransfers(int first, int last, int shift_of_copies) {
    for (int i = first; i < last; i++) {
      const ledger::Move transfer{Account(i), Account(i * 7 + 3), 1 + i % 20};
      if (transfer.payer == transfer.payee) {
        continue;
      }
      const std::string id = "t-" + std::to_string(i);
      Send(id, transfer);
      if (i % 5 == 0) {
        Send(id, transfer, shift_of_copies);
      }
      expected_[transfer.payer] -= transfer.cents;
      expected_[transfer.payee] += transfer.cents;
      transfers_++;
    }
    producer_->Flush();
  }
  void EndWriters() {
    for (size_t i = 0; i < writers_.size(); i++) {
      if (writers_[i]->Running()) {
        EXPECT_EQ(writers_[i]->Terminate(kPatience), 128 + SIGTERM) << LogOf(i);
        EXPECT_THAT(LogOf(i), HasSubstr("verdict: OK"));
      }
    }
  }

  const TempDir dir_;
  std::unique_ptr<TestProducer> producer_;
  std::vector<std::unique_ptr<Process>> writers_;
  std::map<std::string, int64_t> expected_;  // by the transfers
  int transfers_ = 0;
};

class KafkaLedgerInPostgres : public KafkaLedger {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_POSTGRES();
    KafkaLedger::SetUp();
    postgres_ = PostgresServer::Start();
    client_ = *OpenPostgres(*ParsePostgresEndpoint(postgres_->url()),
                            {milliseconds(10'000), milliseconds(30'000)});
    for (int i = 0; i < 2; i++) {  // making them twice changes nothing
      Process tables({.command = {ONCEMQ_LEDGER, "tables"},
                      .environment = {{"LEDGER_DB", postgres_->url()}},
                      .log_file = dir_.path() / "tables.log"});
      ASSERT_EQ(tables.Wait(kPatience), 0) << TextOf(dir_.path() / "tables.log");
    }
  }
  void StartWriter() { KafkaLedger::StartWriter(kServiceFile, postgres_->url()); }

  std::string One(std::string_view statement) const {
    const auto answer = client_->Run({statement});
    EXPECT_TRUE(answer) << ToString(answer.error());
    return answer && !answer->rows.empty() ? answer->rows[0][0].value_or("") : "";
  }
  bool Reaches(std::string_view statement, int count) const {
    return Eventually(kPatience, [&] { return One(statement) == std::to_string(count); });
  }
  bool PostingsReach(int events) const {
    return Reaches("SELECT count(*) FROM postings", 2 * events);
  }

  // As a person does it, by a line.
  void SendByHand(const std::string& line) const {
    Process sends(
        {.command = {"sh", "-c",
                     "echo '" + line + "' | " ONCEMQ_LEDGER_SEND " " + Bootstrap() + " " + kTopic},
         .log_file = dir_.path() / "send.log"});
    EXPECT_EQ(sends.Wait(kPatience), 0) << TextOf(dir_.path() / "send.log");
  }

  // All at the same time, as a timer on each host does it. Their last lines.
  std::vector<std::string> CloseByTwo(const std::string& day) {
    std::vector<std::string> said;
    std::vector<std::unique_ptr<Process>> hosts;
    for (int i = 0; i < 2; i++) {
      hosts.push_back(std::make_unique<Process>(
          ProcessOptions{.command = {ONCEMQ_LEDGER, "close", "--day", day},
                         .environment = {{"LEDGER_DB", postgres_->url()}},
                         .log_file = dir_.path() / (day + std::to_string(i))}));
    }
    for (int i = 0; i < 2; i++) {
      said.push_back((hosts[i]->Wait(kPatience), TextOf(dir_.path() / (day + std::to_string(i)))));
      EXPECT_EQ(hosts[i]->Wait(kPatience), 0) << said.back();
    }
    std::sort(said.begin(), said.end());
    return said;
  }

  std::unique_ptr<PostgresServer> postgres_;
  std::unique_ptr<SqlClient> client_;
};

TEST_F(KafkaLedgerInPostgres, EachEventIsBookedOnceOnTwoHostsAndARefusedOneIsKeptWithItsReason) {
  StartWriter();
  StartWriter();
  OpenAccounts();
  ASSERT_TRUE(PostingsReach(kAccounts)) << LogOf(0);
  SendTransfers(0, 400, 1);
  Send("too much", ledger::Move{Account(1), Account(2), 1'000'000});
  Send("nobody", ledger::Move{"nobody-1", Account(2), 1});
  Send("to nobody", ledger::Move{Account(1), "nobody-2", 1});
  SendTransfers(400, 800, 2);
  for (int i = 0; i < 3; i++) {
    Send("request-1", ledger::Statement{Account(4)}, i);
  }
  producer_->Flush();
  ASSERT_TRUE(PostingsReach(kAccounts + transfers_)) << LogOf(0);

  // The other one handles its messages again.
  SendTransfers(800, 2'000, 1);
  ASSERT_TRUE(Eventually(kPatience, [&] {
    return One("SELECT count(*) > " + std::to_string(2 * (kAccounts + 700)) + " FROM postings") ==
           "t";
  }));
  writers_[0]->Kill9();
  SendTransfers(2'000, 2'200, 3);
  ASSERT_TRUE(PostingsReach(kAccounts + transfers_)) << LogOf(1);
  ASSERT_TRUE(Reaches("SELECT count(*) FROM statements", 1));

  const std::string day = One("SELECT day FROM postings LIMIT 1");
  const std::vector<std::string> said = CloseByTwo(day);
  EXPECT_THAT(said[0], HasSubstr(day + ": closed by"));
  EXPECT_THAT(said[1], HasSubstr(day + ": was closed by"));
  Send("late", ledger::Move{"outside", Account(0), 1});
  Send("closing", ledger::CloseDay{day});
  producer_->Flush();
  SendByHand("by-hand transfer account-0 account-1 5");
  expected_[Account(0)] -= 5;
  expected_[Account(1)] += 5;
  ASSERT_TRUE(PostingsReach(kAccounts + transfers_ + 2)) << LogOf(1);
  EndWriters();

  EXPECT_EQ(One("SELECT sum(cents) FROM postings"), "0");
  EXPECT_EQ(One("SELECT count(*) FROM (SELECT FROM postings GROUP BY id HAVING count(*) <> 2)"
                " AS wrong"),
            "0");
  EXPECT_EQ(One("SELECT count(*) FROM balances JOIN (SELECT account, sum(cents) AS cents FROM "
                "postings GROUP BY account) AS posted ON posted.account = name "
                "WHERE balances.cents <> posted.cents OR balances.cents < 0"),
            "0");
  for (const auto& [account, change] : expected_) {
    EXPECT_EQ(One("SELECT cents FROM balances WHERE name = '" + account + "'"),
              std::to_string(10'000 + change + (account == Account(0) ? 1 : 0)));
  }
  EXPECT_THAT(Refused(), ElementsAre(Pair("nobody", HasSubstr("the payer has no account")),
                                     Pair("to nobody", HasSubstr("account_is_open")),
                                     Pair("too much", HasSubstr("balance_not_negative"))));
  EXPECT_EQ(One("SELECT count(*) FROM closings"), "1");
  EXPECT_EQ(One("SELECT postings FROM closings"), std::to_string(2 * (kAccounts + transfers_)));
  EXPECT_EQ(One("SELECT min(day - date '" + day + "') FROM postings WHERE id = 'late'"), "1")
      << "it belongs to the day after";
}

class KafkaLedgerInRocksDb : public KafkaLedger {
 protected:
  // The file with the other one of its two lines.
  std::filesystem::path File() const {
    std::string text = TextOf(kServiceFile);
    const std::string postgres = "window: {engine: postgres";
    const std::string rocksdb = "# window: {engine: rocksdb";
    EXPECT_THAT(text, HasSubstr("\n" + postgres));
    EXPECT_THAT(text, HasSubstr("\n" + rocksdb));
    const size_t begin = text.find(postgres);
    text.erase(begin, text.find('\n', begin) + 1 - begin);
    text.erase(text.find(rocksdb), 2);
    std::ofstream(dir_.path() / "service.yaml") << text;
    return dir_.path() / "service.yaml";
  }
};

TEST_F(KafkaLedgerInRocksDb, TheSameProgramBooksEachEventOnce) {
  OpenAccounts();
  SendTransfers(0, 400, 0);
  Send("too much", ledger::Move{Account(1), Account(2), 1'000'000});
  for (int i = 0; i < 3; i++) {
    Send("request-1", ledger::Statement{Account(4)});
  }
  producer_->Flush();
  StartWriter(File(), "");
  KafkaAdmin admin(Bootstrap());
  const auto done = [&] {
    int64_t left = 0;
    const auto committed = admin.Committed(kGroup, kTopic);
    for (int32_t partition = 0; partition < kPartitions; partition++) {
      const auto commit = committed.find(partition);
      left += admin.QueryWatermarks(kTopic, partition).high -
              (commit == committed.end() ? 0 : commit->second.offset);
    }
    return left == 0;
  };
  ASSERT_TRUE(Eventually(kPatience, done)) << LogOf(0);
  EndWriters();

  std::map<std::string, int> postings;  // by id
  std::map<std::string, int64_t> balances;
  int64_t sum = 0;
  int statements = 0;
  for (int partition = 0; partition < kPartitions; partition++) {
    const auto store = dir_.path() / "0/build/ledger/window" / kTopic / std::to_string(partition);
    const Status read = ScanEffects(store, [&](std::string_view key, std::string_view value) {
      if (key.starts_with("posting/")) {
        postings[std::string(value.substr(0, value.find(' ')))]++;
        sum += ParseDecimal(value.substr(value.rfind(' ') + 1)).value_or(0);
      } else if (key.starts_with("balance/account")) {
        balances[std::string(key.substr(8))] += SumOf(value).value_or(0);
      }
      statements += key.starts_with("statement/") ? 1 : 0;
      return true;
    });
    ASSERT_TRUE(read) << ToString(read.error());
  }
  EXPECT_EQ(postings.size(), static_cast<size_t>(kAccounts + transfers_));
  for (const auto& [id, rows] : postings) {
    EXPECT_EQ(rows, 2) << id;
  }
  EXPECT_EQ(sum, 0);
  EXPECT_EQ(statements, 1);
  for (const auto& [account, change] : expected_) {
    EXPECT_EQ(balances[account], 10'000 + change) << account;
  }
  EXPECT_THAT(Refused(), ElementsAre(Pair("too much", HasSubstr("would be negative"))));
}

}  // namespace
}  // namespace oncemq::testing
