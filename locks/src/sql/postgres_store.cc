// SPDX-License-Identifier: Apache-2.0
#include "postgres_store.h"

#include <algorithm>
#include <array>
#include <limits>

#include "oncemq/base/bytes.h"
#include "oncemq/base/hash.h"
#include "oncemq/clients/postgres_client.h"
#include "sql_numbers.h"
#include "sql_tables.h"

namespace oncemq {
namespace {

constexpr std::string_view kChannel = "oncemq_lock_";

// No index on anything that changes: so an update stays within its page (HOT), and old versions are
// cleared away by whoever comes by.
struct Texts {
  explicit Texts(const std::string& clock)
      : read("SELECT l.version, l.fence, l.state, " + clock +
             ", coalesce((SELECT epoch FROM oncemq_lock_seals_v1 WHERE space = $1), 0) "
             "FROM (SELECT 1) AS one LEFT JOIN oncemq_locks_v1 AS l "
             "ON l.space = $1 AND l.name = $2"),
        insert(
            "INSERT INTO oncemq_locks_v1 (space, name, version, fence, ends, state) "
            "SELECT $1, $2, $3, $4, $5, $6 WHERE " +
            clock + " < $7 AND " + Sealed("$8") + " ON CONFLICT DO NOTHING"),
        update(
            "UPDATE oncemq_locks_v1 SET version = $3, fence = $4, ends = $5, state = $6 "
            "WHERE space = $1 AND name = $2 AND version = $9 AND " +
            clock + " < $7 AND " + Sealed("$8")),
        lock("SELECT 1 FROM oncemq_locks_v1 WHERE space = $1 AND name = $2 FOR UPDATE"),
        update_notify(
            "WITH swapped AS (" + update +
            " RETURNING 1) SELECT pg_notify(split_part(one, ' ', 1), split_part(one, ' ', 2)) "
            "FROM swapped, regexp_split_to_table(convert_from($10, 'UTF8'), ',') AS one"),
        sweep(
            "WITH portion AS (SELECT name, ends FROM oncemq_locks_v1 WHERE space = $1 AND "
            "name > $2 ORDER BY name LIMIT $3), ended AS (SELECT name FROM oncemq_locks_v1 "
            "WHERE space = $1 AND name IN (SELECT name FROM portion WHERE ends < " +
            clock + " - $4) AND ends < " + clock +
            " - $4 FOR UPDATE SKIP LOCKED), gone AS (DELETE FROM oncemq_locks_v1 AS l "
            "USING ended WHERE l.space = $1 AND l.name = ended.name RETURNING 1) "
            "SELECT name, (SELECT count(*) FROM portion), (SELECT count(*) FROM gone) "
            "FROM portion ORDER BY name DESC LIMIT 1"),
        names("SELECT name FROM oncemq_locks_v1 WHERE space = $1 AND name > $2 AND ends > " +
              clock + " ORDER BY name LIMIT $3") {}

  // Behind the lock of the seals, so nobody changes the answer before the end of the transaction.
  static std::string Sealed(const std::string& epoch) {
    return "(" + epoch + " < 0 OR " + epoch +
           " = coalesce((SELECT epoch FROM oncemq_lock_seals_v1 WHERE space = $1), 0))";
  }

  const std::string read;
  const std::string insert;
  const std::string update;
  const std::string lock;
  const std::string update_notify;
  const std::string sweep;
  const std::string names;
};

constexpr std::string_view kWaitsFor = "SELECT set_config('lock_timeout', $1::text, true)";
constexpr std::string_view kShare = "SELECT pg_advisory_xact_lock_shared($1)";
constexpr std::string_view kExclude = "SELECT pg_advisory_xact_lock($1)";
constexpr std::string_view kSeal =
    "INSERT INTO oncemq_lock_seals_v1 AS s (space, epoch) VALUES ($1, $2) ON CONFLICT (space) DO "
    "UPDATE SET epoch = greatest(s.epoch, excluded.epoch) RETURNING epoch";
constexpr std::string_view kSealed =
    "SELECT coalesce((SELECT epoch FROM oncemq_lock_seals_v1 WHERE space = $1), 0)";

class PostgresStore final : public SqlStore {
 public:
  PostgresStore(std::unique_ptr<SqlClient> client, const SqlEndpoint& endpoint,
                const PostgresStoreOptions& options)
      : client_(std::move(client)),
        endpoint_(endpoint),
        times_(options.times),
        space_(options.space),
        texts_(options.clock),
        // Another lock with this number makes a request wait, and nothing worse.
        seal_lock_(static_cast<int64_t>(StableHash("oncemq lock seal " + options.space))) {}

  Status MakeTables();

  Result<std::vector<SqlSeen>> Read(std::span<const std::string_view> names,
                                    milliseconds within) override {
    std::vector<SqlStatement> statements;
    statements.reserve(names.size());
    for (const std::string_view name : names) {
      statements.push_back({texts_.read, {space_, name}});
    }
    const auto answers = All(statements, within);
    if (!answers) {
      Error error = answers.error();
      error.effect = Effect::kNone;
      return error;
    }
    std::vector<SqlSeen> seen;
    for (const SqlAnswer& answer : *answers) {
      auto one = SeenOf(answer);
      if (!one) {
        return one.error();
      }
      seen.push_back(*std::move(one));
    }
    return seen;
  }

  // All in one transaction, and each statement in it sees what was committed before it began: so
  // the swap behind the lock sees every seal that had the lock before it. One statement would not
  // do: it would have looked before it waited.
  Result<std::vector<bool>> Swap(std::span<const SqlSwap> swaps, milliseconds within) override {
    std::vector<SqlStatement> statements;
    std::vector<std::string> notify;  // keeps the texts of the statements
    notify.reserve(swaps.size());
    const bool sealed = std::any_of(swaps.begin(), swaps.end(),
                                    [](const SqlSwap& swap) { return swap.epoch.has_value(); });
    AddShare(statements, sealed);
    const size_t first = statements.size();
    for (const SqlSwap& swap : swaps) {
      notify.push_back(NotificationText(swap.notify));
      statements.push_back(StatementOf(swap, notify.back()));
    }
    const auto answers = All(statements, within);
    if (!answers) {
      return answers.error();
    }
    std::vector<bool> done;
    for (size_t i = 0; i < swaps.size(); i++) {
      done.push_back(Done((*answers)[first + i], notify[i]));
    }
    return done;
  }

  Result<SqlLocked> SwapLocked(std::string_view name, bool sealed, const SqlWaits& waits,
                               const SqlJudge& judge) override;

  Result<std::string> Sweep(std::string_view after) override {
    const auto answer =
        client_->Run({texts_.sweep, {space_, after, kSqlPortion, int64_t{kSqlKept.count()}}});
    if (!answer) {
      return answer.error();
    }
    const bool end = answer->rows.empty() || NumberOf(*answer, 0, 1) < kSqlPortion;
    return end ? std::string() : answer->rows[0][0].value_or("");
  }

  Result<std::vector<std::string>> Names(std::string_view after, size_t limit) override {
    const auto most =
        static_cast<int64_t>(std::min<size_t>(limit, std::numeric_limits<int32_t>::max()));
    const auto answer = client_->Run({texts_.names, {space_, after, most}});
    return answer ? NamesOf(*answer) : Result<std::vector<std::string>>(answer.error());
  }

  // Waits for the swaps that hold the lock; those that come later see this.
  Result<uint32_t> Seal(uint32_t epoch) override {
    std::vector<SqlStatement> statements;
    if (epoch == 0) {
      statements = {{kSealed, {space_}}};
    } else {
      statements = {{kExclude, {seal_lock_}}, {kSeal, {space_, int64_t{epoch}}}};
    }
    const auto answers = All(statements, kSqlWholeCall);
    if (!answers) {
      return answers.error();
    }
    return static_cast<uint32_t>(NumberOf(answers->back(), 0, 0));
  }

  std::shared_ptr<void> Listen(uint64_t home, std::function<void(const Token&)> heard,
                               std::function<void()> all) override {
    return PostgresListener::Start(
        endpoint_, times_, std::string(kChannel) + Hex(home),
        [heard = std::move(heard)](std::string_view text) {
          const auto process = ParseHex(text.substr(0, text.find('.')));
          const auto attempt = ParseHex(text.substr(text.find('.') + 1));
          if (process && attempt) {
            heard({*process, *attempt});
          }
        },
        // What was told before nobody heard.
        [all = std::move(all)](bool hears) {
          if (hears) {
            all();
          }
        });
  }

 private:
  static std::string NotificationText(const std::vector<SqlNotification>& notify) {
    std::string text;
    for (const SqlNotification& one : notify) {
      text.append(text.empty() ? "" : ",").append(kChannel).append(Hex(one.home)).append(" ");
      text.append(Hex(one.token.process)).append(".").append(Hex(one.token.attempt));
    }
    return text;
  }

  // No seal comes between this and the end of the transaction (S2).
  void AddShare(std::vector<SqlStatement>& statements, bool sealed) const {
    if (sealed) {
      statements.push_back({kShare, {seal_lock_}});
    }
  }

  // Whether the statement of StatementOf, with this text, wrote the row.
  static bool Done(const SqlAnswer& answer, const std::string& notify) {
    return notify.empty() ? answer.affected == 1 : !answer.rows.empty();
  }

  static Result<SqlLocked> NotDone(const SqlRefusal& refusal);

  SqlStatement StatementOf(const SqlSwap& swap, std::string_view notify) const {
    SqlStatement statement{swap.from == 0   ? texts_.insert
                           : notify.empty() ? texts_.update
                                            : texts_.update_notify,
                           {space_, swap.name, swap.to, static_cast<int64_t>(swap.fence),
                            MicrosOf(swap.ends), std::string_view(swap.state), FreshUntil(swap),
                            swap.epoch ? int64_t{*swap.epoch} : int64_t{-1}}};
    if (swap.from != 0) {
      statement.values.emplace_back(swap.from);
    }
    if (!notify.empty()) {
      statement.values.emplace_back(notify);
    }
    return statement;
  }

  Result<std::vector<SqlAnswer>> All(std::span<const SqlStatement> statements,
                                     milliseconds within) {
    auto outcome = client_->Try(statements, within);
    if (!outcome) {
      return outcome.error();
    }
    if (outcome->refusal) {
      return SqlError(*outcome->refusal);
    }
    if (outcome->answers.size() != statements.size()) {
      return Error{Code::kInternal, Effect::kUnknown, "PostgreSQL gave too few answers"};
    }
    return std::move(outcome->answers);
  }

  const std::unique_ptr<SqlClient> client_;
  const SqlEndpoint endpoint_;
  const SqlTimes times_;
  const std::string space_;
  const Texts texts_;
  const int64_t seal_lock_;
};

// Others had the row for too long, or it came to a deadlock.
Result<SqlLocked> PostgresStore::NotDone(const SqlRefusal& refusal) {
  const bool others = refusal.state == "55P03" || refusal.state.starts_with("40");
  return others ? Result<SqlLocked>(SqlLocked::kBusy) : SqlError(refusal);
}

// Two round trips. The lock is a statement of its own, before the look: one statement for both
// would read the clock before it waits for the row. The look sees the row as it was committed last,
// and nobody else changes it until the end of the transaction; a sweep skips it.
Result<SqlLocked> PostgresStore::SwapLocked(std::string_view name, bool sealed,
                                            const SqlWaits& waits, const SqlJudge& judge) {
  auto begun = client_->BeginLater(waits.answer);
  if (!begun) {
    return begun.error();
  }
  SqlTransaction& transaction = **begun;
  std::vector<SqlStatement> reads{{kWaitsFor, {int64_t{waits.row.count()}}}};
  AddShare(reads, sealed);
  reads.push_back({texts_.lock, {space_, name}});
  reads.push_back({texts_.read, {space_, name}});
  const auto outcome = transaction.Try(reads);
  if (!outcome || outcome->refusal) {
    return outcome ? NotDone(*outcome->refusal) : outcome.error();
  }
  const auto seen = SeenOf(outcome->answers.back());
  if (seen && seen->version == 0) {
    transaction.Rollback();
    return SqlLocked::kNoRow;
  }
  auto swap = seen ? judge(*seen) : Result<std::optional<SqlSwap>>(seen.error());
  if (!swap || !*swap) {
    transaction.Rollback();
    return swap ? Result<SqlLocked>(SqlLocked::kDone) : swap.error();
  }
  const std::string notify = NotificationText((*swap)->notify);
  const SqlStatement write = StatementOf(**swap, notify);
  const auto written = transaction.CommitAfter({&write, 1});
  if (!written || written->refusal) {
    return written ? NotDone(*written->refusal) : written.error();
  }
  return Done(written->answers.front(), notify) ? SqlLocked::kDone : SqlLocked::kBusy;
}

// Those who may not are told what somebody else has to do for them.
Status PostgresStore::MakeTables() {
  const std::string_view name = "a";
  const std::array probe{SqlStatement{texts_.read, {space_, name}}};
  auto there = client_->Try(probe);
  if (!there) {
    return there.error();
  }
  if (!there->refusal) {
    return {};
  }
  if (there->refusal->state != "42P01") {  // no such table
    return SqlError(*there->refusal);
  }
  // IF NOT EXISTS is no protection from somebody who makes it at the same moment.
  const std::array makes{SqlStatement{kExclude, {seal_lock_}}, SqlStatement{kPostgresLocksTable},
                         SqlStatement{kPostgresSealsTable}};
  const auto made = client_->Try(makes);
  if (!made) {
    return made.error();
  }
  if (made->refusal) {
    Error error = SqlError(*made->refusal);
    error.code = made->refusal->state == "42501" ? Code::kInvalid : error.code;
    error.message += "; locks need these tables: " + std::string(kPostgresLocksTable) + "; " +
                     std::string(kPostgresSealsTable);
    return error;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<SqlStore>> OpenPostgresStore(const SqlEndpoint& endpoint,
                                                    const PostgresStoreOptions& options) {
  if (options.space.size() > kLongestSqlSpace) {
    return Error{Code::kInvalid, Effect::kNone, "the space of locks in SQL has at most 255 bytes"};
  }
  const SqlTimes times{options.times.connect, options.times.call, kSqlIdle};
  auto client = OpenPostgres(endpoint, times, options.max_connections);
  if (!client) {
    return client.error();
  }
  auto store = std::make_unique<PostgresStore>(*std::move(client), endpoint, options);
  if (const Status made = store->MakeTables(); !made) {
    return made.error();
  }
  return std::unique_ptr<SqlStore>(std::move(store));
}

}  // namespace oncemq
