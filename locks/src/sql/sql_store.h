// SPDX-License-Identifier: Apache-2.0
// SqlStore: the rows of locks in one database, in its own words; and nothing of their rules.
//
// S1  A row is changed by compare-and-swap: nothing is locked between a look and a write. Only for
//     a name that others change all the time, SwapLocked keeps its row for the time between. A
//     client that is paused there keeps others from this row, and the rows that travel with it, for
//     kSqlIdle after its message; then the server ends its transaction. A round in PostgreSQL has
//     one such message, and one in MariaDB has three.
// S2  A swap that names an epoch and a seal exclude each other: whichever is second sees the first.
// S3  A swap of something judged more than kFresh ago is refused. A row is kept longer than that
//     beyond its end, so nobody writes on from a state that was swept and made anew meanwhile.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/sql_client.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

constexpr microseconds kSqlFresh = std::chrono::seconds(30);
constexpr microseconds kSqlKept = std::chrono::seconds(60);
// How long a transaction of ours may be idle. MariaDB makes a second of it.
constexpr milliseconds kSqlIdle{500};
// How many rows one sweep looks at.
constexpr int64_t kSqlPortion = 256;
// One index entry holds space and name in both databases.
constexpr size_t kLongestSqlSpace = 255;

// A name as the store knows it, at one moment of its clock.
struct SqlSeen {
  int64_t version = 0;  // 0: no row
  uint64_t fence = 0;   // of its last grant
  std::string state;
  BootTime now{};      // microseconds since 1970, on the server's clock
  uint32_t epoch = 0;  // of the seal
};

// A waiter that is to hear of its turn.
struct SqlNotification {
  uint64_t home;
  Token token;
};

struct SqlSwap {
  std::string_view name;
  int64_t from = 0;  // the version that was seen; 0: there is no row
  int64_t to = 0;
  uint64_t fence = 0;
  BootTime ends{};  // when all that is in the state will have ended
  std::string state;
  BootTime judged{};                         // what was seen, was seen then
  std::optional<uint32_t> epoch;             // only if the store is sealed with it
  std::vector<SqlNotification> notify = {};  // if it is done
};

// How long a round with a locked row waits.
struct SqlWaits {
  milliseconds row;     // for the row, while others have it locked
  milliseconds answer;  // for each answer of the server
};

// The change of the row that was seen; nothing, if it is to stay.
using SqlJudge = std::function<Result<std::optional<SqlSwap>>(const SqlSeen&)>;

enum class SqlLocked : unsigned char {
  kDone,   // judged, and written if there was anything to write
  kNoRow,  // not judged: only a row that is there can be locked
  kBusy,   // others had the row for all of the time, or the write was refused; it is as it was
};

// Every call ends `within`, or after the time of a call if that is shorter.
//
// Thread safety: any thread.
class SqlStore {
 public:
  virtual ~SqlStore() = default;
  virtual Result<std::vector<SqlSeen>> Read(std::span<const std::string_view> names,
                                            milliseconds within) = 0;
  // Whether each was done.
  virtual Result<std::vector<bool>> Swap(std::span<const SqlSwap> swaps, milliseconds within) = 0;
  // Reads and writes one row in a transaction that keeps it locked in between. `sealed`: the swap
  // will name an epoch. Nobody judges by a time before that of the last change of this row.
  virtual Result<SqlLocked> SwapLocked(std::string_view name, bool sealed, const SqlWaits& waits,
                                       const SqlJudge& judge) = 0;
  // Deletes what ended longer ago than kSqlKept, among the kSqlPortion names behind `after`.
  // Answers the last one of them; empty at the end.
  virtual Result<std::string> Sweep(std::string_view after) = 0;
  // Of what has not ended.
  virtual Result<std::vector<std::string>> Names(std::string_view after, size_t limit) = 0;
  virtual Result<uint32_t> Seal(uint32_t epoch) = 0;

  // Hears what other processes tell waiters at `home`, until the answer is destroyed. `heard`: one
  // of them; `all`: nobody knows what was told meanwhile. None: the system gives no thread.
  virtual std::shared_ptr<void> Listen(uint64_t home, std::function<void(const Token&)> heard,
                                       std::function<void()> all) = 0;
};

}  // namespace oncemq
