// SPDX-License-Identifier: Apache-2.0
// What a Switchboard is made of: what it is asked is in switchboard.cc, what its thread does in
// switchboard_turns.cc.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "aside.h"
#include "aside_gate.h"
#include "ballot.h"
#include "ending_switch_store.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/switch_copy.h"
#include "oncemq/base/switchboard.h"
#include "target_watch.h"

namespace oncemq {

struct Switchboard::Parts {
  Parts(std::shared_ptr<SwitchStore> in, SwitchboardOptions with, const Clock& by)
      : store(std::make_shared<EndingSwitchStore>(std::move(in), the_end.get_token())),
        options(std::move(with)),
        clock(by),
        ballot(store, options.who) {}

  // An answer of another store than the one in force.
  struct Found {
    uint32_t epoch;
    std::string store;
    BootTime requested_at;
  };

  Status Read();
  using Step = std::function<Result<SwitchRecord>(const SwitchRecord& now)>;
  Result<SwitchRecord> Change(const Step& step);
  Result<SwitchRecord> ChangeFrom(const SwitchRecord& meant, const Step& step);
  Result<SwitchRecord> CalledOff(const SwitchRecord& now, std::string_view why) const;
  Result<SwitchRecord> CallOff(const SwitchRecord& meant, std::string_view why);
  void Run();
  void Turn();
  void EndWhatIsDue(BootTime now);
  void ProbeInForce();
  void ProbeTarget();
  void TargetSaid(TargetWatch::By by, const SwitchRecord& record, BootTime sent_at,
                  const Status& said);
  void Vote(BootTime now);
  void Wait();
  void ToSeal(const SwitchRecord& before, const SwitchRecord& now) REQUIRES(mutex);
  void SealTheRest();
  void Seal();
  bool SealOne(const SwitchRecord& record, const std::string& name);
  std::optional<std::string> FirstToAnswer(const SwitchRecord& record,
                                           const std::vector<std::string>& names);
  std::optional<std::string> TakeFound(const SwitchRecord& record);
  void ProbeStores(const SwitchRecord& record, const std::vector<std::string>& names);
  bool Lets(std::string_view name);
  void Report(std::string_view name, bool answered);
  void RunAside(std::function<void()> call);
  // What fails from now on does so because of that, and is no news.
  bool Ended() const { return the_end.stop_requested(); }
  bool Knows(std::string_view name) const {
    return std::find(options.stores.begin(), options.stores.end(), name) != options.stores.end();
  }
  std::string After(std::string_view name) const;
  // Not to be called with `mutex` held: it asks the user of the switchboard.
  std::optional<milliseconds> ShortestHeld() const {
    return options.shortest_held ? options.shortest_held() : std::nullopt;
  }

  std::stop_source the_end;  // no call of the record or of a store is begun behind it
  const std::shared_ptr<EndingSwitchStore> store;
  const SwitchboardOptions options;
  const Clock& clock;

  mutable Mutex mutex;
  SwitchCopy copy GUARDED_BY(mutex);
  uint64_t version GUARDED_BY(mutex) = 0;
  std::stop_source changed GUARDED_BY(mutex);
  std::stop_source nudge GUARDED_BY(mutex);  // ends the wait of the thread
  std::map<std::string, CircuitBreaker, std::less<>> breakers GUARDED_BY(mutex);
  bool probing GUARDED_BY(mutex) = false;  // who answers
  std::optional<Found> found GUARDED_BY(mutex);
  bool probe_under_way GUARDED_BY(mutex) = false;  // at the store in force, or the target
  // Somebody called the store in force since the last turn; in a planned switch, the target.
  bool in_use GUARDED_BY(mutex) = false;
  TargetWatch target GUARDED_BY(mutex);
  uint32_t in_vain GUARDED_BY(mutex) = 0;  // the epoch in which nobody who was asked answered
  std::vector<std::string> unsealed GUARDED_BY(mutex);  // in the epoch of the copy
  bool sealing GUARDED_BY(mutex) = false;
  Ballot ballot;
  const std::shared_ptr<AsideGate> gate = std::make_shared<AsideGate>();
  std::unique_ptr<Aside> aside;  // none: the options have one
  std::optional<std::thread> thread;
};

}  // namespace oncemq
