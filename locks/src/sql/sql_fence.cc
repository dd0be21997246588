// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/sql_fence.h"

#include <limits>

#include "oncemq/base/bytes.h"
#include "oncemq/clients/sql_client.h"

namespace oncemq {
namespace {

constexpr std::string_view kPostgresTable =
    "CREATE TABLE IF NOT EXISTS oncemq_fences_v1 (name bytea PRIMARY KEY, epoch bigint NOT NULL, "
    "token bigint NOT NULL)";
constexpr std::string_view kMariadbTable =
    "CREATE TABLE IF NOT EXISTS oncemq_fences_v1 (name VARBINARY(1024) NOT NULL PRIMARY KEY, "
    "epoch BIGINT NOT NULL, token BIGINT NOT NULL) ENGINE=InnoDB ROW_FORMAT=DYNAMIC";

// Both lock the row also where they leave it as it is.
constexpr std::string_view kPostgresRaise =
    "INSERT INTO oncemq_fences_v1 AS f (name, epoch, token) VALUES ($1, $2, $3) "
    "ON CONFLICT (name) DO UPDATE SET epoch = excluded.epoch, token = excluded.token "
    "WHERE (f.epoch, f.token) <= (excluded.epoch, excluded.token)";
// Assignments are made one after the other: the first one still sees the former epoch.
constexpr std::string_view kMariadbRaise =
    "INSERT INTO oncemq_fences_v1 (name, epoch, token) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE "
    "token = IF(epoch < VALUES(epoch) OR (epoch = VALUES(epoch) AND token <= VALUES(token)), "
    "VALUES(token), token), epoch = GREATEST(epoch, VALUES(epoch))";

// What is affected is counted in different ways: the row itself says whose fence it has.
constexpr std::string_view kPostgresRead =
    "SELECT epoch, token FROM oncemq_fences_v1 WHERE name = $1 FOR UPDATE";
constexpr std::string_view kMariadbRead =
    "SELECT epoch, token FROM oncemq_fences_v1 WHERE name = ? FOR UPDATE";

constexpr auto kGreatestToken = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());

uint64_t NumberOf(const SqlCell& cell) {
  return static_cast<uint64_t>(ParseDecimal(cell.value_or("")).value_or(0));
}

}  // namespace

Status MakeFenceTable(SqlSession& session) {
  const bool postgres = session.dialect() == SqlDialect::kPostgres;
  const auto made = session.Run({postgres ? kPostgresTable : kMariadbTable});
  return made ? Status() : made.error();
}

Result<FenceInstalled> InstallFence(SqlSession& transaction, const Lease& lease) {
  const Fence fence = lease.fence();
  if (!lease.StillMine()) {
    return FenceInstalled::kLost;
  }
  if (const Status fit = CheckFenceOf(lease); !fit) {
    return fit.error();
  }
  if (fence.token > kGreatestToken) {
    return Error{Code::kInvalid, Effect::kNone,
                 "the column of this fence has signed numbers of 64 bits, and it needs more"};
  }
  const bool postgres = transaction.dialect() == SqlDialect::kPostgres;
  const auto raised =
      transaction.Run({postgres ? kPostgresRaise : kMariadbRaise,
                       {lease.name(), int64_t{fence.epoch}, static_cast<int64_t>(fence.token)}});
  if (!raised) {
    return raised.error();
  }
  const auto now = transaction.Run({postgres ? kPostgresRead : kMariadbRead, {lease.name()}});
  if (!now) {
    return now.error();
  }
  if (now->rows.size() != 1 || now->rows[0].size() != 2) {
    return Error{Code::kCorrupt, Effect::kNone, "the row of a fence is not ours"};
  }
  const Fence there{static_cast<uint32_t>(NumberOf(now->rows[0][0])), NumberOf(now->rows[0][1])};
  return there == fence ? FenceInstalled::kYes : FenceInstalled::kOvertaken;
}

Result<std::unique_ptr<SqlTransaction>> BeginFenced(SqlClient& client, const Lease& lease) {
  auto transaction = client.Begin();
  if (!transaction) {
    return transaction.error();
  }
  const auto installed = InstallFence(**transaction, lease);
  if (!installed) {
    return installed.error();
  }
  const bool ours = *installed == FenceInstalled::kYes;
  return ours ? std::move(transaction) : std::unique_ptr<SqlTransaction>();
}

}  // namespace oncemq
