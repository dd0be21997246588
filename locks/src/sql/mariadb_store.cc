// SPDX-License-Identifier: Apache-2.0
#include "mariadb_store.h"

#include <algorithm>
#include <limits>

#include "oncemq/clients/mariadb_client.h"
#include "sql_numbers.h"
#include "sql_tables.h"

namespace oncemq {
namespace {

enum : int {
  kChangedSince = 1020,  // with innodb_snapshot_isolation
  kDuplicate = 1062,
  kNoTable = 1146,
  kLockWait = 1205,
  kDeadlock = 1213
};

// A swap reads the row of the seal in the statement that writes. At REPEATABLE READ such a read
// takes a shared lock and sees what is committed last, not what was when the statement began; the
// seal takes that row for itself. So whichever is second waits for the first, and sees it. The row
// is there always: opening the store makes it.
struct Texts {
  explicit Texts(const std::string& clock)
      : read("SELECT l.version, l.fence, l.state, " + clock +
             ", s.epoch FROM (SELECT 1 AS one) AS o LEFT JOIN oncemq_locks_v1 AS l "
             "ON l.space = ? AND l.name = ? LEFT JOIN oncemq_lock_seals_v1 AS s ON s.space = ?"),
        insert(
            "INSERT INTO oncemq_locks_v1 (version, fence, ends, state, space, name) "
            "SELECT ?, ?, ?, ?, s.space, ? FROM oncemq_lock_seals_v1 AS s WHERE s.space = ? "
            "AND (? < 0 OR s.epoch = ?) AND " +
            clock + " < ?"),
        update(
            "UPDATE oncemq_locks_v1 AS l JOIN oncemq_lock_seals_v1 AS s ON s.space = l.space "
            "SET l.version = ?, l.fence = ?, l.ends = ?, l.state = ? "
            "WHERE l.name = ? AND l.space = ? AND (? < 0 OR s.epoch = ?) AND " +
            clock + " < ? AND l.version = ?"),
        // Of the row alone: the seal is looked at without a lock, and again by the update.
        lock("SELECT l.version, l.fence, l.state, " + clock +
             ", (SELECT s.epoch FROM oncemq_lock_seals_v1 AS s WHERE s.space = ?) "
             "FROM oncemq_locks_v1 AS l WHERE l.space = ? AND l.name = ? FOR UPDATE"),
        now("SELECT " + clock),
        sweep("DELETE FROM oncemq_locks_v1 WHERE space = ? AND name > ? AND name <= ? AND ends < " +
              clock + " - ?"),
        names("SELECT name FROM oncemq_locks_v1 WHERE space = ? AND name > ? AND ends > " + clock +
              " ORDER BY name LIMIT ?") {}

  const std::string read;
  const std::string insert;
  const std::string update;
  const std::string lock;
  const std::string now;
  const std::string sweep;
  const std::string names;
};

constexpr std::string_view kPortion =
    "SELECT name FROM oncemq_locks_v1 WHERE space = ? AND name > ? ORDER BY name LIMIT 1 OFFSET ?";
constexpr std::string_view kLast =
    "SELECT name FROM oncemq_locks_v1 WHERE space = ? AND name > ? ORDER BY name DESC LIMIT 1";
constexpr std::string_view kMakeSeal =
    "INSERT IGNORE INTO oncemq_lock_seals_v1 (space, epoch) VALUES (?, 0)";
constexpr std::string_view kSeal =
    "INSERT INTO oncemq_lock_seals_v1 (space, epoch) VALUES (?, ?) "
    "ON DUPLICATE KEY UPDATE epoch = GREATEST(epoch, VALUES(epoch))";
constexpr std::string_view kSealed = "SELECT epoch FROM oncemq_lock_seals_v1 WHERE space = ?";

class MariadbStore final : public SqlStore {
 public:
  MariadbStore(std::unique_ptr<SqlClient> client, const MariadbStoreOptions& options)
      : client_(std::move(client)), space_(options.space), texts_(options.clock) {}

  Status MakeTables();

  Result<std::vector<SqlSeen>> Read(std::span<const std::string_view> names,
                                    milliseconds within) override {
    std::vector<SqlSeen> all;
    for (const std::string_view name : names) {
      const auto answer = One({texts_.read, {space_, name, space_}}, within);
      auto seen = answer ? SeenOf(*answer) : Result<SqlSeen>(answer.error());
      if (!seen) {
        Error error = seen.error();
        error.effect = Effect::kNone;
        return error;
      }
      all.push_back(*std::move(seen));
    }
    return all;
  }

  // Each by itself: in one transaction the rows of the first ones would stay locked while messages
  // of the others travel.
  Result<std::vector<bool>> Swap(std::span<const SqlSwap> swaps, milliseconds within) override {
    std::vector<bool> done;
    for (const SqlSwap& swap : swaps) {
      const auto one = SwapOne(swap, within);
      if (!one) {
        Error error = one.error();
        error.effect = done.empty() ? error.effect : Effect::kUnknown;
        return error;
      }
      done.push_back(*one);
    }
    return done;
  }

  Result<SqlLocked> SwapLocked(std::string_view name, bool sealed, const SqlWaits& waits,
                               const SqlJudge& judge) override;

  Result<std::string> Sweep(std::string_view after) override {
    auto last = OneName(kPortion, {space_, after, kSqlPortion - 1});
    const bool end = last && !*last;
    if (end) {
      last = OneName(kLast, {space_, after});
    }
    if (!last) {
      return last.error();
    }
    if (!*last) {
      return std::string();
    }
    const auto swept = client_->Run(
        {texts_.sweep, {space_, after, std::string_view(**last), int64_t{kSqlKept.count()}}});
    if (!swept) {
      return swept.error();
    }
    return end ? std::string() : **last;
  }

  Result<std::vector<std::string>> Names(std::string_view after, size_t limit) override {
    const auto most =
        static_cast<int64_t>(std::min<size_t>(limit, std::numeric_limits<int32_t>::max()));
    const auto answer = client_->Run({texts_.names, {space_, after, most}});
    return answer ? NamesOf(*answer) : Result<std::vector<std::string>>(answer.error());
  }

  Result<uint32_t> Seal(uint32_t epoch) override {
    if (epoch > 0) {
      const auto sealed = client_->Run({kSeal, {space_, int64_t{epoch}}});
      if (!sealed) {
        return sealed.error();
      }
    }
    const auto now = client_->Run({kSealed, {space_}});
    return now ? Result<uint32_t>(static_cast<uint32_t>(NumberOf(*now, 0, 0))) : now.error();
  }

  std::shared_ptr<void> Listen(uint64_t, std::function<void(const Token&)>,
                               std::function<void()>) override {
    return nullptr;  // nothing is told here
  }

 private:
  // Somebody else was first, or is still at it: nothing was done.
  static bool OthersAreAtIt(const SqlRefusal& refusal) {
    const int number = refusal.number;
    return number == kChangedSince || number == kDuplicate || number == kLockWait ||
           number == kDeadlock;
  }

  SqlStatement StatementOf(const SqlSwap& swap) const {
    const int64_t epoch = swap.epoch ? int64_t{*swap.epoch} : -1;
    SqlStatement statement{
        swap.from == 0 ? texts_.insert : texts_.update,
        {swap.to, static_cast<int64_t>(swap.fence), MicrosOf(swap.ends),
         std::string_view(swap.state), swap.name, space_, epoch, epoch, FreshUntil(swap)}};
    if (swap.from != 0) {
      statement.values.emplace_back(swap.from);
    }
    return statement;
  }

  Result<SqlAnswer> One(const SqlStatement& statement, milliseconds within) {
    auto outcome = client_->Try({&statement, 1}, within);
    if (!outcome || outcome->refusal) {
      return outcome ? SqlError(*outcome->refusal) : outcome.error();
    }
    return std::move(outcome->answers.front());
  }

  Result<bool> SwapOne(const SqlSwap& swap, milliseconds within) {
    const SqlStatement statement = StatementOf(swap);
    const auto outcome = client_->Try({&statement, 1}, within);
    if (!outcome) {
      return outcome.error();
    }
    if (outcome->refusal) {
      return OthersAreAtIt(*outcome->refusal) ? Result<bool>(false) : SqlError(*outcome->refusal);
    }
    return outcome->answers.front().affected == 1;
  }

  Result<SqlSeen> SeenNow(SqlTransaction& transaction, const SqlAnswer& locked) const;

  static Result<SqlLocked> NotDone(const SqlRefusal& refusal) {
    return OthersAreAtIt(refusal) ? Result<SqlLocked>(SqlLocked::kBusy) : SqlError(refusal);
  }
  // The server ends a wait for a row after whole seconds; a call may be shorter.
  static Result<SqlLocked> NotLocked(const Error& error) {
    return error.code == Code::kTimeout ? Result<SqlLocked>(SqlLocked::kBusy) : error;
  }

  Result<std::optional<std::string>> OneName(std::string_view text, std::vector<SqlValue> values) {
    const auto answer = client_->Run({text, std::move(values)});
    if (!answer) {
      return answer.error();
    }
    return answer->rows.empty() ? std::optional<std::string>() : answer->rows[0][0];
  }

  const std::unique_ptr<SqlClient> client_;
  const std::string space_;
  const Texts texts_;
};

// The locked row, and a time that is not before its last change: an extension by an earlier time
// would end a hold before its holder thinks. The clock of a statement stands since its begin, so
// since before it waited for the row. A writer meanwhile judged later, and raised the version to
// its time at least. Then this asks for the time again, as nobody else can write any more.
Result<SqlSeen> MariadbStore::SeenNow(SqlTransaction& transaction, const SqlAnswer& locked) const {
  auto seen = SeenOf(locked);
  if (!seen || MicrosOf(seen->now) > seen->version) {
    return seen;
  }
  const auto now = transaction.Run({texts_.now});
  if (!now) {
    return now.error();
  }
  seen->now = BootTime(microseconds(NumberOf(*now, 0, 0)));
  return seen;
}

// Four round trips, or five. A row that is there is found by its key, so InnoDB locks it and no gap
// next to it. The row comes first and the seal's after it, in the update, as in every other swap.
Result<SqlLocked> MariadbStore::SwapLocked(std::string_view name, bool /*sealed*/,
                                           const SqlWaits& waits, const SqlJudge& judge) {
  auto begun = client_->BeginLater(waits.answer);
  const auto began = begun ? (*begun)->Try({}) : Result<SqlOutcome>(begun.error());
  if (!began || began->refusal) {
    return began ? SqlError(*began->refusal) : began.error();
  }
  SqlTransaction& transaction = **begun;
  const SqlStatement read{texts_.lock, {space_, space_, name}};
  const auto outcome = transaction.Try({&read, 1});
  if (!outcome || outcome->refusal) {
    return outcome ? NotDone(*outcome->refusal) : NotLocked(outcome.error());
  }
  if (outcome->answers.front().rows.empty()) {
    transaction.Rollback();
    return SqlLocked::kNoRow;
  }
  const auto seen = SeenNow(transaction, outcome->answers.front());
  auto swap = seen ? judge(*seen) : Result<std::optional<SqlSwap>>(seen.error());
  if (!swap || !*swap) {
    transaction.Rollback();
    return swap ? Result<SqlLocked>(SqlLocked::kDone) : swap.error();
  }
  const SqlStatement write = StatementOf(**swap);
  const auto written = transaction.CommitAfter({&write, 1});
  if (!written || written->refusal) {
    return written ? NotDone(*written->refusal) : written.error();
  }
  return written->answers.front().affected == 1 ? SqlLocked::kDone : SqlLocked::kBusy;
}

// Those who may not are told what somebody else has to do for them.
Status MariadbStore::MakeTables() {
  const SqlStatement probe{texts_.read, {space_, std::string_view("a"), space_}};
  const auto there = client_->Try({&probe, 1});
  if (!there) {
    return there.error();
  }
  if (there->refusal && there->refusal->number != kNoTable) {
    return SqlError(*there->refusal);
  }
  for (const std::string_view table : {kMariadbLocksTable, kMariadbSealsTable}) {
    const auto made = there->refusal ? client_->Run({table}) : Result<SqlAnswer>(SqlAnswer{});
    if (!made) {
      Error error = made.error();
      error.message += "; locks need these tables: " + std::string(kMariadbLocksTable) + "; " +
                       std::string(kMariadbSealsTable);
      return error;
    }
  }
  const auto sealed = client_->Run({kSealed, {space_}});
  if (!sealed || !sealed->rows.empty()) {
    return sealed ? Status() : sealed.error();
  }
  const auto made = client_->Run({kMakeSeal, {space_}});
  return made ? Status() : made.error();
}

}  // namespace

Result<std::unique_ptr<SqlStore>> OpenMariadbStore(const SqlEndpoint& endpoint,
                                                   const MariadbStoreOptions& options) {
  if (options.space.size() > kLongestSqlSpace) {
    return Error{Code::kInvalid, Effect::kNone, "the space of locks in SQL has at most 255 bytes"};
  }
  const SqlTimes times{options.times.connect, options.times.call, kSqlIdle};
  auto client = OpenMariadb(endpoint, times, options.max_connections);
  if (!client) {
    return client.error();
  }
  auto store = std::make_unique<MariadbStore>(*std::move(client), options);
  if (const Status made = store->MakeTables(); !made) {
    return made.error();
  }
  return std::unique_ptr<SqlStore>(std::move(store));
}

}  // namespace oncemq
