// SPDX-License-Identifier: Apache-2.0
// Runs whose handlers take names, driven one by one.
//
// Thread safety: none; a run may be driven inside a handler of another one.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drive.h"
#include "lock_use.h"
#include "oncemq/locks/memory_locks.h"
#include "scripted_source.h"

namespace oncemq::testing {

class HandlerLocksTest : public ::testing::Test {
 protected:
  // What a run is driven with, and stays in place meanwhile.
  struct Prepared {
    ScriptedSource source;
    std::deque<Script::Record> records;
    std::deque<std::string> ids;
    std::optional<Job> job;

    explicit Prepared(Script& script) : source(script) {}
  };

  // One run of so many messages, each of a lane of its own. One that did not end comes again with
  // the next run of that id.
  std::unique_ptr<Prepared> Prepare(size_t messages = 1, Window* window = nullptr,
                                    BootTime safe_until = BootTime::max(),
                                    std::string_view id = "id") {
    auto run = std::make_unique<Prepared>(script_);
    BatchPolicy policy{.window = window != nullptr};
    if (window != nullptr) {
      policy.level = window->capabilities().level;
    }
    Job& job = run->job.emplace(policy, TokenSource(1, 1 + 1'000 * runs_++), run->source.NewView());
    job.batch.safe_until = safe_until;
    run->records.resize(messages);
    for (uint32_t i = 0; i < messages; i++) {
      run->records[i].offset = i;
      BatchItem item;
      item.slot = item.lane = i;
      item.message = &run->records[i];
      item.at = {0, 0, i};
      item.owner_epoch = owner_epoch_;
      item.id = run->ids.emplace_back(std::string(id) + " " + std::to_string(i));
      const auto& left = left_[run->ids.back()];
      item.stage = left.first;
      item.token = left.second;
      job.batch.items.push_back(item);
    }
    job.watch.Reset(/*on_poll_thread=*/false, safe_until);
    return run;
  }
  Driven Drive(Prepared& run, const Handler& handler, Window* window = nullptr) {
    return DriveBatch(*run.job, handler,
                      {window, nullptr, &SystemClock::Instance(), &errors_, source_of_locks_});
  }
  std::vector<DeliveryFate> Drive(const Handler& handler, size_t messages = 1,
                                  Window* window = nullptr, BootTime safe_until = BootTime::max(),
                                  std::string_view id = "id") {
    const auto run = Prepare(messages, window, safe_until, id);
    EXPECT_EQ(Drive(*run, handler, window), Driven::kSettled);
    std::vector<DeliveryFate> fates;
    for (const Settlement& settlement : run->job->machine.settlements()) {
      fates.push_back(settlement.fate);
      left_[run->ids[settlement.slot]] = {settlement.stage, settlement.token};
    }
    return fates;
  }
  bool Held(std::string_view name) { return !engine_->Read(name)->parties.empty(); }
  void Evict(const Lease& lease) {
    ASSERT_EQ(*engine_->Evict(lease.name(), lease.fence()), Freed::kYes);
  }
  void UseElision() {
    auto locks = OpenLocks({.elided = true, .names_partition_owned = true}, Level::kAtomic);
    ASSERT_TRUE(locks.has_value());
    elided_ = *std::move(locks);
    source_of_locks_ = elided_.source;
  }

  const std::unique_ptr<Wake> wake_ = *Wake::Open();
  Script script_{*wake_};
  StoreErrors errors_;
  const std::shared_ptr<LockEngine> engine_ = MakeMemoryLocks();
  std::shared_ptr<LockDomain> domain_ = *LockDomain::Open(engine_);
  OpenedLocks elided_;
  LockSource source_of_locks_{LockSource::Kind::kDomain, domain_};
  OwnerEpoch owner_epoch_ = 77;

 private:
  std::map<std::string, std::pair<Stage, Token>> left_;
  uint64_t runs_ = 0;
};

}  // namespace oncemq::testing
