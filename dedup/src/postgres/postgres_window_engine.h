// SPDX-License-Identifier: Apache-2.0
// PostgresWindow: the engine behind OpenPostgresWindow(). A call is one transaction: it locks and
// reads the rows of its ids, MarkerEngine judges them here, and the changes are written with the
// COMMIT. Two round trips, one where nothing changes.
//
// A claim or a completion of one id without a partition is offered first: the judge works before
// the look, on the row that the call expects, and one statement writes where the table has that
// row. Only where it has another one does the call go the long way.
//
// Thread safety: any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../store_guard.h"
#include "id_rows.h"
#include "oncemq/base/bytes.h"
#include "oncemq/base/mutex.h"
#include "oncemq/clients/sql_client.h"
#include "oncemq/dedup/postgres_window.h"
#include "oncemq/dedup/store_stat.h"
#include "sql_batch.h"
#include "sql_texts.h"

namespace oncemq {

// The time in microseconds since 1970: an expression. Tests have a clock of their own.
inline constexpr std::string_view kPostgresClock =
    "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

// Of one step of a sweep: blocks of the table, so that its transaction is short.
inline constexpr int64_t kSweepBlocks = 256;

// 0: it is not there.
inline int64_t NumberOf(const SqlAnswer& answer, size_t row, size_t column) {
  if (row >= answer.rows.size() || column >= answer.rows[row].size()) {
    return 0;
  }
  return ParseDecimal(answer.rows[row][column].value_or("")).value_or(0);
}

inline Error TooFewAnswers() {
  return {Code::kInternal, Effect::kUnknown, "PostgreSQL gave too few answers"};
}

// Others were in the way: the ids are judged again.
inline bool IsCollision(const SqlRefusal& refusal) {
  return IsUniqueViolation(refusal) || refusal.state.starts_with("40");
}

class PostgresWindow final : public Window {
 public:
  static Result<std::unique_ptr<PostgresWindow>> OpenAt(std::string_view address,
                                                        const PostgresWindowOptions& options,
                                                        std::string_view clock);

  const WindowCapabilities& capabilities() const override { return capabilities_; }
  Result<StoreKnowledge> Open(const StoreName& name) override;
  void Close(uint32_t source, int32_t partition) override;
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t source, int32_t partition, OwnerEpoch floor) override;
  Status Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override;
  Status Judge(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override;
  Status Complete(std::span<const CompleteRequest> requests,
                  std::span<MarkerChange> answers) override;
  Result<std::unique_ptr<EffectBatch>> NewEffects(uint32_t source, int32_t partition,
                                                  std::span<const ClaimRequest> granted) override;
  Status CompleteWith(EffectBatch& effects, std::span<const CompleteRequest> requests,
                      std::span<MarkerChange> answers) override;
  Status Release(std::span<const ReleaseRequest> requests,
                 std::span<MarkerChange> answers) override;
  Status Park(std::span<const ParkRequest> requests, std::span<MarkerChange> answers) override;
  Status Renew(std::span<const RenewRequest> requests, std::span<MarkerChange> answers) override;
  Status Restore(std::span<const RestoreRequest> requests,
                 std::span<MarkerChange> answers) override;
  Status Announce(std::span<const Announcement> announcements) override;
  Status Committed(std::span<const Progress> progress, std::span<MarkerChange> answers) override;
  Status Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) override;
  Status RecordUncertain(std::span<const UncertainCall> calls) override;
  Result<std::vector<UncertainRecord>> ListUncertain(WallTime since) override;
  Status ForgetByHand(std::span<const std::string_view> ids,
                      std::span<MarkerChange> answers) override;
  Result<uint64_t> DropAged(milliseconds within) override;
  Result<RememberTimes> Remember(RememberChange change) override;
  Result<std::vector<StoreStat>> Stat() override;
  StoreLosses losses() const override;

  // Of a scope whose ids are released: nothing of it is left, and no call follows.
  Status RemoveScope();

 private:
  struct Scope {
    int64_t number = 0;
    KeyedHash::Secret secret{};
    uint64_t incarnation = 0;
  };
  // Where the server stands in its history.
  struct LogPosition {
    int64_t timeline = 0;
    int64_t position = 0;
    int64_t started = 0;
  };
  using Partition = std::pair<uint32_t, int32_t>;

  PostgresWindow(std::unique_ptr<SqlClient> client, const PostgresWindowOptions& options,
                 SqlTextsByName texts);
  Status FindScope();
  Result<std::vector<SqlAnswer>> MakeScope();
  Status TakeKind(int64_t ids);

  // `answer`: how long one answer of the server is waited for.
  template <class Request, class Reply>
  Status Apply(std::span<const Request> requests, std::span<Reply> replies,
               milliseconds answer = kSqlWholeCall);
  // Offers first, where that can be.
  template <class Request, class Reply>
  Status TryFastOrApply(std::span<const Request> requests, std::span<Reply> replies);
  // One round trip. False: the table has another row than the offer expects, and nothing was done.
  Result<bool> TryFastPath(const ClaimRequest& request, ClaimAnswer& reply);
  Result<bool> TryFastPath(const CompleteRequest& request, MarkerChange& reply);
  Result<bool> Make(std::string_view statement, IdRows& rows);
  Status ReadMarkers(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers);
  // One round trip without locks, at any level. Returns the answer of `besides`.
  Result<SqlAnswer> ReadRows(IdRows& rows, SqlStatement besides);
  bool atomic() const { return *options_.level == Level::kAtomic; }
  IdRows NewRows() const {
    return IdRows(*options_.level, options_.times, scope_.secret, options_.remember,
                  capabilities_.partition_owned);
  }
  std::string DigestOf(std::string_view id, const Coordinates& at) const;
  // That may have an id, for a call that names none: one, where ids cross partitions.
  Result<std::vector<Coordinates>> PossibleCoordinates();
  Status WriteBatch(SqlBatch& batch, std::span<const CompleteRequest> requests);
  // As LockRows() and WriteRows(), false: the server answers, and refuses.
  template <class Request, class Reply>
  Result<bool> ApplyOnce(std::span<const Request> requests, std::span<Reply> replies,
                         milliseconds answer, SqlRefusal& refusal);
  // As one transaction. A refusal is an Error.
  Result<std::vector<SqlAnswer>> All(std::span<const SqlStatement> statements);
  // Takes the row of `scope_now`.
  Status TakeTime(const SqlAnswer& answer, const LogPosition& before, IdRows* rows);
  LogPosition LogPositionNow();
  void NoteLogPosition(const LogPosition& place, const LogPosition& before);
  Result<bool> LockRows(SqlTransaction& transaction, std::span<const int64_t> sources,
                        std::span<const int64_t> partitions, IdRows& rows, SqlRefusal& refusal);
  Result<bool> WriteRows(SqlTransaction& transaction, IdRows& rows, SqlRefusal& refusal);
  // Whether a partition among these was opened before the server lost changes.
  template <class Request>
  Status Usable(std::span<const Request> requests);
  Status UsableAt(uint32_t source, int32_t partition);
  int64_t LockOf(uint32_t source, int32_t partition) const;
  SqlStatement Text(std::string_view name, std::vector<SqlValue> values) const {
    return {texts_[name], std::move(values)};
  }
  void SweepIdsWithoutPartition(std::span<const CompleteRequest> requests);
  // At most `steps` of a sweep, until `until`; how many ids went. A step that takes too long says
  // nothing of the server.
  // `without_partition`: a pass begins in any case, for ids without a partition.
  Result<uint64_t> Sweep(int steps, BootTime until, bool without_partition);
  // From one pass to the next for ids without a partition.
  milliseconds SweepEvery() const { return std::max(options_.remember / 64, milliseconds(1)); }
  // Of one transaction; the next one passes fewer blocks if this one takes too long.
  Result<SqlAnswer> SweepOnce(const SqlStatement& statement);

  WindowCapabilities capabilities_;  // const once the scope is found
  const PostgresWindowOptions options_;
  const std::shared_ptr<SqlClient> client_;
  const SqlTextsByName texts_;
  Scope scope_;
  std::atomic<int64_t> sweep_blocks_{kSweepBlocks};
  std::atomic<uint64_t> without_partition_{0};  // ids without a partition that were completed here
  std::atomic<BootTime> without_partition_at_{
      BootTime::min()};                    // when their next pass may begin here
  std::atomic<int64_t> announcements_{0};  // tells one from an earlier one of the same owner

  StoreGuard guarded_{"PostgreSQL"};
  mutable Mutex mutex_;
  LogPosition log_position_ GUARDED_BY(mutex_);
  uint64_t losses_ GUARDED_BY(mutex_) = 0;  // how often the server had lost changes
  std::map<Partition, uint64_t> opened_ GUARDED_BY(mutex_);  // after how many losses
};

}  // namespace oncemq
