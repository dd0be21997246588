// SPDX-License-Identifier: Apache-2.0
// The record is a row of oncemq_switch_v1, swapped by its version; what a process says of itself is
// a row of oncemq_switch_words_v1. One statement each.
#include "sql_switch_store.h"

#include "oncemq/base/bytes.h"
#include "oncemq/base/outage.h"
#include "sql/sql_tables.h"

namespace oncemq {
namespace {

constexpr milliseconds kBetweenReads{1'000};

struct Texts {
  std::string_view make_records;
  std::string_view make_words;
  std::string_view read;
  std::string_view insert;
  std::string_view update;
  std::string_view say;
  std::string_view hear;
  std::string_view bury;
};

constexpr Texts kPostgres{
    kPostgresSwitchTable,
    kPostgresWordsTable,
    "SELECT version, record FROM oncemq_switch_v1 WHERE name = $1",
    "INSERT INTO oncemq_switch_v1 (name, version, record) VALUES ($1, 1, $2) "
    "ON CONFLICT DO NOTHING",
    "UPDATE oncemq_switch_v1 SET version = version + 1, record = $2 "
    "WHERE name = $1 AND version = $3",
    "INSERT INTO oncemq_switch_words_v1 (name, who, word) VALUES ($1, $2, $3) "
    "ON CONFLICT (name, who) DO UPDATE SET word = $3",
    "SELECT who, word FROM oncemq_switch_words_v1 WHERE name = $1",
    "DELETE FROM oncemq_switch_words_v1 WHERE name = $1 AND who = $2"};

constexpr Texts kMariadb{
    kMariadbSwitchTable,
    kMariadbWordsTable,
    "SELECT version, record FROM oncemq_switch_v1 WHERE name = ?",
    "INSERT IGNORE INTO oncemq_switch_v1 (name, version, record) VALUES (?, 1, ?)",
    "UPDATE oncemq_switch_v1 SET version = version + 1, record = ? WHERE name = ? AND version = ?",
    "INSERT INTO oncemq_switch_words_v1 (name, who, word) VALUES (?, ?, ?) "
    "ON DUPLICATE KEY UPDATE word = VALUES(word)",
    "SELECT who, word FROM oncemq_switch_words_v1 WHERE name = ?",
    "DELETE FROM oncemq_switch_words_v1 WHERE name = ? AND who = ?"};

class SqlSwitchStore final : public SwitchStore {
 public:
  SqlSwitchStore(std::unique_ptr<SqlClient> client, std::string name)
      : client_(std::move(client)),
        name_(std::move(name)),
        postgres_(client_->dialect() == SqlDialect::kPostgres),
        texts_(postgres_ ? kPostgres : kMariadb) {}

  // A role that may not make tables finds them made.
  Status MakeTables() {
    if (Read() && Hear()) {
      return {};
    }
    for (const std::string_view text : {texts_.make_records, texts_.make_words}) {
      static_cast<void>(client_->Run({text}));  // somebody else may do so at the same time
    }
    const auto record = Read();
    const auto words = Hear();
    if (record && words) {
      return {};
    }
    const Error& error = record ? words.error() : record.error();
    return Error{IsTransient(error) ? error.code : Code::kInvalid, Effect::kNone,
                 error.message + "; the tables are made by: " + std::string(texts_.make_records) +
                     "; " + std::string(texts_.make_words)};
  }

  Result<Text> Read() override {
    const auto answer = client_->Run({texts_.read, {name_}});
    if (!answer) {
      return answer.error();
    }
    if (answer->rows.empty()) {
      return Text{};
    }
    const SqlRow& row = answer->rows[0];
    const auto version = row.size() == 2 && row[0] ? ParseDecimal(*row[0]) : std::nullopt;
    if (!version || *version < 1 || !row[1]) {
      return Error{Code::kCorrupt, Effect::kNone, "switch record: this row is not ours"};
    }
    return Text{*row[1], static_cast<uint64_t>(*version)};
  }

  Result<bool> Swap(std::string_view text, uint64_t version) override {
    SqlStatement swap{texts_.insert, {name_, text}};
    if (version > 0) {
      const auto number = static_cast<int64_t>(version);
      swap = postgres_ ? SqlStatement{texts_.update, {name_, text, number}}
                       : SqlStatement{texts_.update, {text, name_, number}};
    }
    const auto answer = client_->Run(swap);
    return answer ? Result<bool>(answer->affected == 1) : answer.error();
  }

  Status Await(uint64_t version, BootTime until, const std::stop_token& stop) override {
    return AwaitByPolling(version, until, stop, kBetweenReads);
  }

  Status Say(std::string_view who, std::string_view word) override {
    const auto answer = client_->Run({texts_.say, {name_, who, word}});
    return answer ? Status() : Status(answer.error());
  }

  Result<std::map<std::string, std::string>> Hear() override {
    const auto answer = client_->Run({texts_.hear, {name_}});
    if (!answer) {
      return answer.error();
    }
    std::map<std::string, std::string> said;
    for (const SqlRow& row : answer->rows) {
      if (row.size() == 2 && row[0] && row[1]) {
        said.emplace(*row[0], *row[1]);
      }
    }
    return said;
  }

  Status Bury(std::string_view who) override {
    const auto answer = client_->Run({texts_.bury, {name_, who}});
    return answer ? Status() : Status(answer.error());
  }

 private:
  const std::unique_ptr<SqlClient> client_;
  const std::string name_;
  const bool postgres_;
  const Texts texts_;
};

}  // namespace

Result<std::shared_ptr<SwitchStore>> OpenSqlSwitchStore(std::unique_ptr<SqlClient> client,
                                                        const std::string& name) {
  auto store = std::make_shared<SqlSwitchStore>(std::move(client), name);
  if (const Status made = store->MakeTables(); !made) {
    return made.error();
  }
  return std::shared_ptr<SwitchStore>(std::move(store));
}

}  // namespace oncemq
