// SPDX-License-Identifier: Apache-2.0
// A log with a consumer group that does what a test says.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"
#include "source.h"
#include "wake.h"

namespace oncemq::testing {

// What a test wants to happen, and what the loop has done. Outlives the source.
//
// Thread safety: any thread.
class Script {
 public:
  explicit Script(Wake& wake) : wake_(wake) {}

  // An empty id is none. A copy with another payload is a conflict; without one, payloads are not
  // compared.
  void Append(PartitionId partition, const std::string& id, const std::string& key,
              const std::string& payload = "");
  // Told by the source's next Serve().
  void Emit(std::function<void(SourceEvents&)> event);
  // `read_from`: where it begins to read, at the start if nothing is said.
  void Assign(PartitionId partition, int64_t start = 0, int64_t read_from = -1);
  // From the beginning, or from the group's commit, as the window allows.
  void Prepare(PartitionId partition, const std::optional<CommitAction>& stored = std::nullopt);
  // Given by the group, and not begun.
  void Hold(PartitionId partition, const std::string& why, bool stopped = false);
  void Revoke(PartitionId partition);
  void Lose(PartitionId partition);
  // How far the log is known from now on.
  void SeeLog(PartitionId partition, const LogSight& log);
  // No broker answers from now on, or one does.
  void Unreach(bool none_answers) { unreached_ = none_answers; }
  // What Parked() answers from now on.
  void AnswerParked(const Result<ParkedMessages>& parked);
  // A message of the park topic is to be run.
  void Redrive(PartitionId partition, const std::string& id, const std::string& key,
               int64_t offset);
  // How commits are answered from now on; nothing: not at all.
  void AnswerCommits(std::optional<CommitReply> reply);
  // Each Serve() takes so long, on the loop's clock.
  void ServeTakes(milliseconds time) { serve_takes_ = time.count(); }
  // So much time passes on the loop's clock, as for a process that was stopped meanwhile.
  void Advance(milliseconds by) { clock_.Advance(by); }
  // The system's, and later by what was said above.
  const Clock& clock() const { return clock_; }

  struct Seen {
    std::vector<CommitAction> commits;
    std::vector<PartitionId> given_back;
    std::vector<PartitionId> assigned_anew;
    int rejoined = 0;
    bool refusing = false;
    bool closed = false;
    size_t held = 0;                    // messages that were read and not released
    std::vector<std::string> detached;  // ids, in this order
    int asked_parked = 0;               // without an answer
    int64_t parked_from = -1;           // of which offsets
  };
  Seen seen() const;

  struct Record {
    std::string id;
    std::string key;
    std::string payload;
    PartitionId partition = 0;
    int64_t offset = 0;
    std::string traceparent = {};
  };

 private:
  friend class ScriptedSource;
  static Arrival ArrivalOf(const Record& record);
  void RetryPrepare();
  class LateClock final : public Clock {
   public:
    BootTime Boot() const override {
      return SystemClock::Instance().Boot() + milliseconds(late_.load());
    }
    WallTime Wall() const override { return SystemClock::Instance().Wall(); }
    void Advance(milliseconds by) { late_ += by.count(); }

   private:
    std::atomic<int64_t> late_{0};
  };

  Wake& wake_;
  LateClock clock_;
  std::atomic<int64_t> serve_takes_{0};
  std::atomic<bool> unreached_{false};
  mutable Mutex mutex_;
  std::map<PartitionId, std::deque<Record>> logs_ GUARDED_BY(mutex_);
  std::deque<Record> copies_ GUARDED_BY(mutex_);
  std::map<PartitionId, size_t> next_ GUARDED_BY(mutex_);
  std::vector<PartitionId> readable_ GUARDED_BY(mutex_);
  std::deque<std::function<void(SourceEvents&)>> events_ GUARDED_BY(mutex_);
  std::vector<std::function<void()>> waiting_ GUARDED_BY(mutex_);  // for RetryPrepare()
  std::map<PartitionId, NotBegun> not_begun_ GUARDED_BY(mutex_);
  std::map<PartitionId, LogSight> logs_seen_ GUARDED_BY(mutex_);
  Result<ParkedMessages> parked_ GUARDED_BY(mutex_) = ParkedMessages{};
  std::deque<Record> redriven_ GUARDED_BY(mutex_);
  std::optional<CommitReply> reply_ GUARDED_BY(mutex_) = CommitReply::kAcknowledged;
  Seen seen_ GUARDED_BY(mutex_);
};

class ScriptedSource final : public Source, public ParkedSource {
 public:
  explicit ScriptedSource(Script& script) : script_(script) {}

  void Serve(SourceEvents& events) override;
  std::span<const PartitionId> readable() const override { return readable_; }
  uint32_t Read(PartitionId partition, uint32_t most, std::vector<Arrival>& arrivals,
                SourceEvents& events) override;
  void Release(std::span<void* const> messages) override;
  // The message that an entry named before is not readable any more.
  void Detach(std::span<LeftBehind> messages) override;
  void Commit(std::span<const CommitAction> commits) override;
  void GiveBack(PartitionId partition) override;
  void AssignAnew(PartitionId partition) override;
  ParkedSource* parked() override { return this; }
  Result<ParkedMessages> Begin(PartitionId partition, OwnerEpoch owner, int64_t from,
                               int64_t frontier) override;
  void Read(PartitionId partition, uint32_t most, const std::function<bool(int64_t)>& finished,
            std::vector<RedrivenArrival>& arrivals) override;
  void End(PartitionId) override {}
  void RetryPrepare() override { script_.RetryPrepare(); }
  void Refuse() override;
  void Rejoin() override;
  void Close() override;
  bool closed() const override { return script_.seen().closed; }
  std::string Unreached() const override { return script_.unreached_ ? "k1:9092" : ""; }
  int64_t ReadTo(PartitionId partition) const override { return LogOf(partition).read_to; }
  LogSight LogOf(PartitionId partition) const override;
  const std::map<PartitionId, NotBegun>& not_begun() const override { return not_begun_; }
  std::unique_ptr<MessageView> NewView() const override;
  PartitionName Name(PartitionId partition) const override {
    return {"topic", static_cast<int32_t>(partition)};
  }

 private:
  Script& script_;
  std::vector<PartitionId> readable_;
  std::map<PartitionId, NotBegun> not_begun_;
};

}  // namespace oncemq::testing
