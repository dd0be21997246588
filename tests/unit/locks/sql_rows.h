// SPDX-License-Identifier: Apache-2.0
// Rows of locks in memory, in place of a database, and how often others are first with a change.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sql/sql_store.h"

namespace oncemq::testing {

// Thread safety: none, and nobody needs any here.
struct SqlRows {
  std::map<std::string, SqlSeen, std::less<>> rows;
  std::map<std::string, int, std::less<>> overtaken;  // so many swaps of the name fail
  int swaps = 0;
  std::vector<std::string> locked;          // names whose rows were locked, in this order
  int busy = 0;                             // so many locked rounds find the row taken
  std::function<void()> in_locked_round;    // called once, while the row is locked
  std::vector<SqlWaits> waits;              // of each locked round
  std::vector<bool> sealed;                 // likewise
  std::vector<milliseconds> answer_within;  // of each look and each swap
};

class SqlRowsStore final : public SqlStore {
 public:
  static constexpr BootTime kNow{microseconds(1'000'000)};

  explicit SqlRowsStore(SqlRows& rows) : rows_(rows) {}

  Result<std::vector<SqlSeen>> Read(std::span<const std::string_view> names,
                                    milliseconds within) override {
    rows_.answer_within.push_back(within);
    std::vector<SqlSeen> seen;
    for (const std::string_view name : names) {
      seen.push_back(SeenOf(name));
    }
    return seen;
  }
  Result<std::vector<bool>> Swap(std::span<const SqlSwap> swaps, milliseconds within) override {
    rows_.answer_within.push_back(within);
    rows_.swaps++;
    std::vector<bool> done;
    for (const SqlSwap& swap : swaps) {
      int& overtaken = rows_.overtaken[std::string(swap.name)];
      done.push_back(SeenOf(swap.name).version == swap.from && overtaken == 0);
      if (done.back()) {
        Write(swap);
      } else if (overtaken > 0) {
        overtaken--;
      }
    }
    return done;
  }
  Result<SqlLocked> SwapLocked(std::string_view name, bool sealed, const SqlWaits& waits,
                               const SqlJudge& judge) override {
    rows_.locked.emplace_back(name);
    rows_.sealed.push_back(sealed);
    rows_.waits.push_back(waits);
    if (const auto call = std::exchange(rows_.in_locked_round, nullptr)) {
      call();
    }
    const SqlSeen seen = SeenOf(name);
    if (seen.version == 0) {
      return SqlLocked::kNoRow;
    }
    if (rows_.busy > 0) {
      rows_.busy--;
      return SqlLocked::kBusy;
    }
    const auto swap = judge(seen);
    if (!swap) {
      return swap.error();
    }
    if (*swap) {
      Write(**swap);
    }
    return SqlLocked::kDone;
  }
  Result<std::string> Sweep(std::string_view) override { return std::string(); }
  Result<std::vector<std::string>> Names(std::string_view, size_t) override {
    return std::vector<std::string>();
  }
  Result<uint32_t> Seal(uint32_t) override { return 0; }
  std::shared_ptr<void> Listen(uint64_t, std::function<void(const Token&)>,
                               std::function<void()>) override {
    return nullptr;
  }

 private:
  SqlSeen SeenOf(std::string_view name) const {
    const auto at = rows_.rows.find(name);
    SqlSeen seen = at == rows_.rows.end() ? SqlSeen{} : at->second;
    seen.now = kNow;
    return seen;
  }
  void Write(const SqlSwap& swap) {
    rows_.rows[std::string(swap.name)] = {swap.to, swap.fence, swap.state, kNow, 0};
  }

  SqlRows& rows_;
};

}  // namespace oncemq::testing
