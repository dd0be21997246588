// SPDX-License-Identifier: Apache-2.0
// Many messages with many copies through members that come and go: what the storm tests share.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "oncemq/base/mutex.h"
#include "oncemq/dedup/window.h"
#include "oncemq/ordering/verdict.h"
#include "running_member.h"
#include "support/temp_dir.h"
#include "support/test_producer.h"

namespace oncemq::testing {

struct StormSize {
  uint32_t ids = 1'000'000;
  uint32_t keys = 9'973;
  uint32_t far = 30'000;  // a far copy comes this many messages later
  int32_t partitions = 8;
  uint32_t feed = 20;      // sent at a time while something is waited for
  bool open_end = false;   // no more ids than were sent by then; `ids` is only the bound
  bool in_shares = false;  // every act sends its share as a whole: what comes next meets a backlog
};

// The target of the effects: append-only, and it does not de-duplicate. Compact, because there are
// a million.
//
// Thread safety: any thread.
class StormLog {
 public:
  void Append(uint32_t id);
  size_t size() const;
  // Id n has key n % keys, so numbers ascend within a key.
  void ExpectOnceAndInOrder(const StormSize& size) const;

 private:
  mutable Mutex mutex_;
  std::vector<uint32_t> ids_ GUARDED_BY(mutex_);
};

// That the producer's messages lie in the log as it has sent them: or no order can be judged.
void ExpectLogInOrder(const std::string& bootstrap, const std::string& topic,
                      const StormSize& size);

// Commits that reach to the end of every partition, within a minute.
bool AllCommitted(const std::string& bootstrap, const std::string& group, const std::string& topic,
                  uint64_t messages);

// Expects of every partition a clean last commit at the end of the log whose totals account for
// every offset of it (the second identity), `messages` in all. Returns the sums.
Totals ExpectCommitsAddUp(const std::string& bootstrap, const std::string& group,
                          const std::string& topic, uint64_t messages);

// A fifth of the ids comes twice: every tenth at once, every other tenth much later.
//
// Thread safety: one thread.
class StormProducer {
 public:
  StormProducer(const std::string& bootstrap, std::string topic, const StormSize& size);

  void SendUpTo(uint32_t end);
  // Sends little by little, so that there is always something new, until the condition holds.
  bool FeedUntil(uint32_t end, const std::function<bool()>& condition);
  void SendTheRest();
  uint64_t sent() const { return sent_; }
  uint32_t ids() const { return next_; }  // different ones

 private:
  void Send(uint32_t id);

  TestProducer producer_;
  const std::string topic_;
  const StormSize size_;
  uint32_t next_ = 0;
  uint64_t sent_ = 0;
};

// After the last member, whose windows were of that kind below `dir`: every id was counted once in
// the stores (StoreLedgerRow), and no key went back.
void ExpectLedger(const std::filesystem::path& dir, std::string_view kind, const std::string& group,
                  const std::string& topic, const StormSize& size);

// Where the members of a storm remember.
enum class StormWindow {
  kMemory,  // in one window that all share
  kDisk,    // in a store for each partition, opened by whoever owns it
};

// The members, their windows, and what is judged in the end.
//
// Thread safety: one thread.
class Storm {
 public:
  Storm(const std::string& bootstrap, const std::string& name, const StormSize& size,
        StormWindow window = StormWindow::kMemory);

  std::unique_ptr<RunningMember> Join(uint32_t workers = 0);
  // The member owns something, and has had something to do.
  static bool Works(const RunningMember& member) { return member.Now().counts.deliveries > 0; }
  // Expects a clean end and a balanced verdict.
  void Leave(std::unique_ptr<RunningMember>& member);

  size_t effects() const { return effects_.size(); }
  bool Reached(size_t effects);
  bool AllCommitted(uint64_t messages);

  // Every id once, every key in order; and what the commits say, read from the broker, adds up.
  void Judge(uint64_t messages);
  int64_t handed_back() const { return handed_back_; }

 private:
  const std::string ballast_ = std::string(32'768, 'b');
  std::atomic<uint64_t> work_{0};
  const StormSize size_;
  const std::string topic_;
  const std::string bootstrap_;
  const StormWindow kind_;
  const TempDir dir_;
  std::vector<std::unique_ptr<Window>> windows_;  // one, or one of each member
  StormLog effects_;
  int64_t handled_ = 0;
  int64_t handed_back_ = 0;
};

}  // namespace oncemq::testing
