// SPDX-License-Identifier: Apache-2.0
// RedisWindow: the engine of OpenRedisWindow(). look.lua reads the ids of a call, MarkerEngine
// judges them here, and write.lua writes those that are still as they were read; the others are
// judged again. The first script does the plain cases itself: it claims new ids, and completes and
// releases open ones by their tokens.
//
// Thread safety: any thread.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../store_guard.h"
#include "answered_counts.h"
#include "loss_reports.h"
#include "oncemq/base/mutex.h"
#include "oncemq/clients/redis_client.h"
#include "oncemq/dedup/redis_window.h"
#include "oncemq/dedup/store_stat.h"
#include "redis_ids.h"
#include "server_judge.h"
#include "window_scripts.h"

namespace oncemq {

// The time in microseconds since 1970: an expression of Lua. Tests have a clock of their own.
inline constexpr std::string_view kRedisClock =
    "(function() local t = redis.call('TIME') return t[1] * 1000000 + t[2] end)()";

class RedisWindow final : public Window {
 public:
  static Result<std::unique_ptr<RedisWindow>> OpenAt(std::string_view address,
                                                     const RedisWindowOptions& options,
                                                     std::string_view clock);

  const WindowCapabilities& capabilities() const override { return capabilities_; }
  Result<StoreKnowledge> Open(const StoreName& name) override;
  void Close(uint32_t source, int32_t partition) override;
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t source, int32_t partition, OwnerEpoch floor) override;
  Status Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override;
  Status Judge(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override;
  Status Complete(std::span<const CompleteRequest> requests,
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
  StoreLosses losses() const override { return reports_.counts(); }

  // Of a scope whose ids are released: nothing of it is left, and no call follows.
  Status RemoveScope();

  // Below, until `private`: for RedisOwnedWindow too, which has its scope, its ownerships and its
  // count of changes here.
  using Partition = std::pair<uint32_t, int32_t>;
  // As the store has it until it is lost.
  struct Scope {
    std::string incarnation;  // 16 digits
    KeyedHash::Secret secret{};
  };
  // The state of the store that a call assumes.
  struct ServerSnapshot {
    std::shared_ptr<const Scope> scope;
    uint64_t losses = 0;   // how often it had lost some
    uint64_t horizon = 0;  // in ms
  };
  const std::string& base() const { return base_; }
  const WindowScripts& scripts() const { return scripts_; }
  // For how long ids are kept: remember and skew, as a commit was told last.
  milliseconds kept() const { return kept_; }
  // By its clock, as it was told last.
  int64_t server_micros() const { return server_micros_; }
  // Tells one announcement from an earlier one of the same owner.
  uint64_t NextAnnouncement() { return ++announcements_; }
  // kLostWrites: one of them was opened before the server lost changes.
  Result<ServerSnapshot> SnapshotFor(std::span<const Partition> partitions);
  // The text that a script answers, until the store is as in the snapshot. The answer rests on
  // `under`.
  Result<std::string> RunFor(std::span<const Partition> partitions, const RedisScript& script,
                             const ScriptArguments& arguments, int replicas = 0,
                             ServerSnapshot* under = nullptr);
  Status MarkUncertain(std::span<const std::string_view> ids, std::span<MarkerView> views);
  // Commands that only read. It does not say whether changes were lost.
  Result<std::vector<RedisReply>> Read(std::span<const RedisCommand> commands);

 private:
  Result<std::vector<RedisReply>> ReadUnguarded(std::span<const RedisCommand> commands);
  // How a server is set up.
  struct Server {
    bool keeps = false;       // an append-only file
    int replicas = 0;         // that are connected
    uint64_t bucket_ids = 0;  // in one hash that stays small
  };
  // The requests that a try leaves to be judged again.
  using Left = std::vector<size_t>;

  RedisWindow(std::unique_ptr<RedisClient> client, const RedisWindowOptions& options,
              const Server& server, std::string_view clock);
  static Result<Server> SetUp(RedisClient& client, const ServerJudge::Server& found);
  // Of options_.scope, and the times in force there.
  struct FoundScope {
    std::shared_ptr<const Scope> scope;
    RememberTimes remembers;
  };
  // `change`: as of scope.lua. `again`: this process had opened another one.
  Result<FoundScope> FindScope(std::string_view change, bool again);
  std::string_view Opening() const {
    return options_.existing_only ? "none" : options_.expect_scope ? "extend" : "make";
  }
  Status CheckRights();

  // The text that a script answers; none: the store has lost changes, which is noted now.
  Result<std::optional<std::string>> TryRun(const RedisScript& script,
                                            const ServerSnapshot& snapshot,
                                            const ScriptArguments& arguments, int replicas = 0);
  // The answers of a script, and of a wait for its changes.
  Result<std::vector<RedisReply>> RunAndWait(const RedisScript& script,
                                             const RedisCommand& arguments, int replicas);
  // The text that a script answers, which so many replicas have then.
  Result<std::string> Run(const RedisScript& script, const RedisCommand& arguments,
                          int replicas = 0);
  Status NoteLoss(const ServerSnapshot& snapshot, std::string_view answer);
  // The store of the snapshot goes on, but with less.
  void CountLoss(uint64_t count) REQUIRES(mutex_);
  // Takes the news of the store in an answer. False: it has lost changes since the snapshot, so no
  // answer may rest on that.
  bool NoteCount(const ServerSnapshot& snapshot, uint64_t count, bool change,
                 std::optional<uint64_t> horizon);
  // Of "W", count, and a 1 for each id that was changed.
  Result<std::string_view> TakeWritten(const ServerSnapshot& snapshot, std::string_view answer);

  template <class Request, class Reply>
  Status Apply(std::span<const Request> requests, std::span<Reply> replies);
  template <class Request, class Reply>
  Status ApplyChunk(std::span<const Request> requests, std::span<Reply> replies);
  template <class Request, class Reply>
  Result<Left> ApplyOnce(std::span<const Request> requests, const Left& asked,
                         std::span<Reply> replies, bool& wrote);
  // The first script of a call. False: changes were lost.
  template <class Request>
  Result<bool> ReadIds(std::span<const Request> requests, const Left& asked,
                       const ServerSnapshot& snapshot, RedisIds& ids);
  // The second one. The rows that were not written. It does not say whether changes were lost.
  Result<std::vector<size_t>> Write(const ServerSnapshot& snapshot, RedisIds& ids, bool& wrote);
  template <class Request>
  void FastPathArguments(const Request& request, const ServerSnapshot& snapshot,
                         ScriptArguments& arguments) const;

  // At most `steps` of a sweep, until `until`; how many ids went.
  Result<uint64_t> Sweep(int steps, BootTime until, bool force);

  const WindowCapabilities capabilities_;
  const RedisWindowOptions options_;
  const std::string base_;     // begins all keys of the scope
  const std::string key_;      // of the scope itself
  const std::string process_;  // 16 digits
  const std::string bucket_ids_;
  const WindowScripts scripts_;
  const std::unique_ptr<RedisClient> client_;
  StoreGuard guarded_{"Redis"};

  Mutex mutex_;
  ServerSnapshot snapshot_ GUARDED_BY(mutex_);
  AnsweredCounts counts_ GUARDED_BY(mutex_);          // of the store of snapshot_
  BootTime answered_ GUARDED_BY(mutex_) = BootNow();  // the last time
  std::atomic<int64_t> server_micros_{0};
  std::atomic<milliseconds> kept_{milliseconds::max()};
  std::atomic<uint64_t> announcements_{0};
  std::map<Partition, uint64_t> opened_ GUARDED_BY(mutex_);  // after how many losses
  bool gone_ GUARDED_BY(mutex_) = false;                     // the scope, and it is told
  LossReports reports_;
};

}  // namespace oncemq
