// SPDX-License-Identifier: Apache-2.0
// The matrix of changes: what lies between two starts of a service, or between its start and a
// command. The rows and what they promise stand in docs/changes.md; here stands how each is made.
// Each row is a run on the real servers: 40 messages, the change, their copies with fresh stamps
// and 5 new messages. The window alone keeps the copies out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "oncemq/base/bytes.h"
#include "oncemq/base/hash.h"
#include "oncemq/dedup/postgres_window.h"
#include "support/eventually.h"
#include "support/kafka_admin.h"
#include "support/kafka_broker.h"
#include "support/postgres_server.h"
#include "support/process.h"
#include "support/redis_server.h"
#include "support/temp_dir.h"
#include "support/test_producer.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;

// A row of the table.
struct Row {
  std::string change;
  std::string engine;
  std::string outcome;  // keeps, refused, told
  std::string words;    // that the log, or the command, says; may be empty
  std::string then;     // for the operator
};

std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.change << " in " << row.engine << ": " << row.outcome << " " << row.words;
}

std::string ReadAll(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string Trimmed(std::string text) {
  const size_t from = text.find_first_not_of(' ');
  return from == text.npos ? "" : text.substr(from, text.find_last_not_of(' ') + 1 - from);
}

// One row for each engine in a row of the table: "| change | a, b | outcome | `words` | then |".
std::vector<Row> RowsOf(const std::filesystem::path& page) {
  std::vector<Row> rows;
  std::ifstream text(page);
  for (std::string line; std::getline(text, line);) {
    std::vector<std::string> cells;
    std::istringstream parts(line);
    for (std::string cell; std::getline(parts, cell, '|');) {
      cells.push_back(Trimmed(cell));
    }
    const bool row =
        cells.size() == 6 && (cells[3] == "keeps" || cells[3] == "refused" || cells[3] == "told");
    std::istringstream engines(row ? cells[2] : "");
    for (std::string engine; std::getline(engines, engine, ',');) {
      std::string words = cells[4];
      std::erase(words, '`');
      rows.push_back({cells[1], Trimmed(engine), cells[3], words, cells[5]});
    }
  }
  return rows;
}

// A service file, as far as rows change it.
struct Service {
  std::string engine;
  std::string level = "guarded";
  std::string ids = "crossing";
  std::string remember = "168h";
  std::string skew = "1m";
  std::string id_header = "message-id";
  std::string handler = "settle";
  std::string reject = "stop";
  std::vector<std::string> topics;
  bool remembers = true;  // the engine takes a time
};

class Changes : public ::testing::TestWithParam<Row> {
 protected:
  static constexpr int kFirst = 40;
  static constexpr int kNew = 5;

  void SetUp() override {
    ONCEMQ_REQUIRE_KAFKA();
    ONCEMQ_REQUIRE_POSTGRES();
    ONCEMQ_REQUIRE_REDIS();
    static int number = 0;
    name_ = "changes-" + std::to_string(++number);
    bootstrap_ = SharedKafka::Get().bootstrap();
    admin_ = std::make_unique<KafkaAdmin>(bootstrap_);
    for (const char* topic : {"-a", "-b"}) {
      admin_->CreateTopic({.name = name_ + topic, .partitions = 2});
    }
    postgres_ = PostgresServer::Start();
    ASSERT_TRUE(MigratePostgresWindow(postgres_->url(), "oncemq"));
    redis_ = RedisServer::Start();
    Use(GetParam().engine);
    service_.topics = {name_ + "-a"};
  }

  void Use(const std::string& engine) {
    service_.engine = engine == "redis-owned" ? "redis" : engine;
    const bool owned = engine == "redis-owned" || engine == "rocksdb" || engine == "memory";
    service_.ids = owned ? "partition_owned" : "crossing";
    service_.remembers = engine != "memory";
  }

  std::filesystem::path WriteFile(const Service& service) {
    const auto path = dir_.path() / ("service-" + std::to_string(files_++) + ".yaml");
    std::ofstream out(path);
    out << "scope: {app: " << name_ << ", handler: " << service.handler << "}\n"
        << "kafka:\n  brokers: " << bootstrap_ << "\n  group: " << name_
        << "\n  session_timeout: 6s\n"
        << "topics: [";
    for (const std::string& topic : service.topics) {
      out << topic << (&topic == &service.topics.back() ? "]\n" : ", ");
    }
    out << "window:\n  engine: " << service.engine << "\n  level: " << service.level
        << "\n  ids: " << service.ids << "\n  id: {header: " << service.id_header << "}\n";
    if (service.remembers) {
      out << "  remember: " << service.remember << "\n  skew: " << service.skew << "\n";
    }
    if (service.engine == "postgres" || service.engine == "redis") {
      const auto secret = dir_.path() / ("secret-" + service.engine);
      std::ofstream(secret) << (service.engine == "redis" ? redis_->url() : postgres_->url());
      std::filesystem::permissions(
          secret, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
      out << "  at: ${file:" << secret.string() << "}\n";
    } else if (service.engine == "rocksdb") {
      out << "  directory: " << (dir_.path() / "stores").string() << "\n";
    }
    out << "reject: " << service.reject << "\n";
    return path;
  }

  void Send(int from, int to, int64_t stamp_ms = 0) {
    TestProducer producer(bootstrap_);
    for (int i = from; i < to; i++) {
      const std::string id = std::to_string(i);
      producer.Send({.topic = name_ + "-a",
                     .partition = i % partitions_,
                     .key = "k" + std::to_string(i % 7),
                     .value = "pay " + id,
                     .headers = {{"message-id", id}, {"other-id", id}},
                     .timestamp_ms = stamp_ms});
    }
    producer.Flush();
  }

  std::unique_ptr<Process> Start(const Service& service) {
    log_ = dir_.path() / ("log-" + std::to_string(starts_++));
    return std::make_unique<Process>(
        ProcessOptions{.command = {ONCEMQ_CHANGES_MEMBER, "-c", WriteFile(service).string()},
                       .environment = {{"ONCEMQ_LEDGER", (dir_.path() / "ledger").string()}},
                       .log_file = log_});
  }

  std::map<std::string, int> Ledger() {
    std::map<std::string, int> lines;
    std::ifstream ledger(dir_.path() / "ledger");
    for (std::string line; std::getline(ledger, line);) {
      lines[line]++;
    }
    return lines;
  }
  bool Has(int from, int to) {
    const auto ledger = Ledger();
    for (int i = from; i < to; i++) {
      if (!ledger.contains(name_ + "-a " + std::to_string(i))) {
        return false;
      }
    }
    return true;
  }
  int Doubled() {
    const auto ledger = Ledger();
    return static_cast<int>(std::count_if(ledger.begin(), ledger.end(),
                                          [](const auto& line) { return line.second > 1; }));
  }
  int64_t Committed() {
    int64_t sum = 0;
    for (const auto& [partition, commit] : admin_->Committed(name_, name_ + "-a")) {
      sum += commit.offset;
    }
    return sum;
  }

  // Handles what is there, commits it and leaves.
  void RunUntilCommitted(int64_t messages) {
    const auto member = Start(service_);
    // A partition has a commit once it has begun.
    const auto begun = [&](const std::string& topic) {
      return admin_->Committed(name_, topic).size() >= 2;
    };
    EXPECT_TRUE(Eventually(seconds(30), [&] {
      return std::all_of(service_.topics.begin(), service_.topics.end(), begun) &&
             Committed() >= messages;
    })) << ReadAll(log_);
    EXPECT_EQ(member->Terminate(seconds(20)), 143) << ReadAll(log_);
    ASSERT_TRUE(admin_->WaitUntilEmpty(name_, seconds(30)));
  }

  std::string Command(const std::string& arguments) {
    const auto out = dir_.path() / ("command-" + std::to_string(starts_++));
    Process process(
        {.command = {"/bin/sh", "-c", "exec '" ONCEMQ_PROGRAM "' " + arguments}, .log_file = out});
    command_code_ = process.Wait(seconds(60)).value_or(-1);
    return ReadAll(out);
  }

  void CommitAsANewerVersion(const std::string& fields) {
    auto commits = admin_->Committed(name_, name_ + "-a");
    for (auto& [partition, commit] : commits) {
      std::string& text = commit.metadata;
      text.resize(text.rfind(" x="));
      text.replace(0, 8, "oncemq/2");
      text.insert(text.find("m="), fields);
      text += " x=" + Hex(Crc32c(text)).substr(8);
    }
    admin_->Commit(name_, name_ + "-a", commits);
  }

  const TempDir dir_;
  std::string name_;
  std::string bootstrap_;
  std::unique_ptr<KafkaAdmin> admin_;
  std::unique_ptr<PostgresServer> postgres_;
  std::unique_ptr<RedisServer> redis_;
  Service service_;
  std::filesystem::path log_;
  std::string said_;  // by the command of the row
  int command_code_ = 0;
  int partitions_ = 2;
  int files_ = 0;
  int starts_ = 0;

 public:
  using Make = std::function<void(Changes&)>;
  static const std::map<std::string, Make>& All();
};

const std::map<std::string, Changes::Make>& Changes::All() {
  static const std::map<std::string, Make> all{
      {"nothing", [](Changes&) {}},
      {"a shorter `remember`", [](Changes& c) { c.service_.remember = "10s"; }},
      {"a longer `remember`", [](Changes& c) { c.service_.remember = "336h"; }},
      {"a shorter `skew`", [](Changes& c) { c.service_.skew = "0s"; }},
      {"another `level`", [](Changes& c) { c.service_.level = "opaque"; }},
      {"another meaning of `ids`",
       [](Changes& c) {
         c.service_.ids = c.service_.ids == "crossing" ? "partition_owned" : "crossing";
       }},
      {"another header as `id`", [](Changes& c) { c.service_.id_header = "other-id"; }},
      {"another `scope`", [](Changes& c) { c.service_.handler = "book"; }},
      {"a topic more", [](Changes& c) { c.service_.topics.push_back(c.name_ + "-b"); }},
      {"a topic less",
       [](Changes& c) {
         c.service_.topics.push_back(c.name_ + "-b");
         c.RunUntilCommitted(0);
         c.service_.topics.pop_back();
       }},
      {"more partitions",
       [](Changes& c) {
         c.partitions_ = 3;
         c.admin_->AddPartitions(c.name_ + "-a", 3);
       }},
      {"another `reject`",
       [](Changes& c) {
         c.service_.reject = "{journal: " + (c.dir_.path() / "refused").string() + "}";
       }},
      {"`engine: postgres` from then on", [](Changes& c) { c.Use("postgres"); }},
      {"`engine: redis` from then on", [](Changes& c) { c.Use("redis"); }},
      {"a commit of a newer version, with an optional field",
       [](Changes& c) { c.CommitAsANewerVersion("later=5 "); }},
      {"a commit of a newer version, with a required field",
       [](Changes& c) { c.CommitAsANewerVersion("Journal=5 "); }},
      {"`window gc` with a file of a shorter `remember`",
       [](Changes& c) {
         Service shorter = c.service_;
         shorter.remember = "10s";
         c.said_ = c.Command("window gc -c " + c.WriteFile(shorter).string());
       }},
      {"`window forget` of a finished id",
       [](Changes& c) {
         c.said_ = c.Command("window forget 3 --why tried -c " + c.WriteFile(c.service_).string());
       }},
      {"an operator's reset of the group to 0",
       [](Changes& c) {
         c.admin_->AlterOffsets(c.name_, c.name_ + "-a", {{0, 0}, {1, 0}});
       }},
      {"a restored backup",
       [](Changes& c) {
         c.postgres_->BackUp();
         c.Send(100, 120);
         c.RunUntilCommitted(kFirst + 20);
         c.postgres_->GoBack();
         c.Send(100, 120);
       }},
      {"the store's server killed and started, Redis without its data",
       [](Changes& c) {
         if (c.service_.engine == "redis") {
           c.redis_->Kill9();
           c.redis_->Restart();
         } else {
           c.postgres_->Kill9();
           c.postgres_->Restart();
         }
       }},
  };
  return all;
}

TEST_P(Changes, Keeps) {
  const Row& row = GetParam();
  const auto change = All().find(row.change);
  ASSERT_NE(change, All().end()) << "docs/changes.md has a row that nobody makes: " << row.change;
  Send(0, kFirst);
  RunUntilCommitted(kFirst);
  ASSERT_TRUE(Has(0, kFirst));
  change->second(*this);
  Send(0, kFirst);
  Send(kFirst, kFirst + kNew);
  const auto member = Start(service_);
  const auto says = [&] {
    return !row.words.empty() && (said_ + ReadAll(log_)).find(row.words) != std::string::npos;
  };
  if (row.outcome == "refused" && said_.empty()) {
    EXPECT_TRUE(Eventually(seconds(20), says)) << ReadAll(log_);
  } else {
    EXPECT_TRUE(Eventually(seconds(30), [&] { return Has(kFirst, kFirst + kNew); }))
        << said_ << ReadAll(log_);
    EXPECT_TRUE(Eventually(seconds(30), [&] { return Committed() >= 2 * kFirst + kNew; }))
        << ReadAll(log_);
    EXPECT_TRUE(row.words.empty() || says()) << said_ << ReadAll(log_);
  }
  member->Terminate(seconds(20));
  if (row.outcome != "told") {
    EXPECT_EQ(Doubled(), 0) << ReadAll(log_);
  }
}

std::string NameOf(const ::testing::TestParamInfo<Row>& info) {
  std::string name;
  for (const char c : info.param.change + " in " + info.param.engine) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += c;
    }
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Page, Changes, ::testing::ValuesIn(RowsOf(ONCEMQ_CHANGES_PAGE)), NameOf);

TEST(ChangesPage, SaysWhatToDoWhereAChangeIsNotJustKept) {
  for (const Row& row : RowsOf(ONCEMQ_CHANGES_PAGE)) {
    EXPECT_EQ(row.then.empty(), row.outcome == "keeps") << row;
  }
}

// "| change | `Suite.Name` |", of changes that a run of three steps cannot make.
TEST(ChangesPage, NamesTestsThatAreThere) {
  std::string sources;
  for (const char* folder : {"/tests", "/dedup/conformance/src"}) {
    for (const auto& file :
         std::filesystem::recursive_directory_iterator(ONCEMQ_SOURCE_DIR + std::string(folder))) {
      sources += file.path().extension() == ".cc" || file.path().extension() == ".h"
                     ? ReadAll(file.path())
                     : "";
    }
  }
  std::ifstream page(ONCEMQ_CHANGES_PAGE);
  int named = 0;
  for (std::string line; std::getline(page, line);) {
    const size_t dot =
        line.starts_with("| ") && line.ends_with("` |") ? line.rfind('.') : line.npos;
    const size_t name = dot == line.npos ? line.npos : line.rfind('`', dot);
    if (name == line.npos || line.find(' ', name + 1) != line.size() - 2) {
      continue;
    }
    const std::string test = line.substr(dot + 1, line.size() - 3 - (dot + 1));
    EXPECT_NE(sources.find(", " + test + ") {"), std::string::npos) << line;
    named++;
  }
  EXPECT_GT(named, 5);
}

TEST(ChangesPage, HasARowForEachChangeThatIsMade) {
  const std::vector<Row> rows = RowsOf(ONCEMQ_CHANGES_PAGE);
  for (const auto& [change, make] : Changes::All()) {
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
      return row.change == change;
    })) << change;
  }
}

}  // namespace
}  // namespace oncemq::testing
