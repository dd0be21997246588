// SPDX-License-Identifier: Apache-2.0
// Switchboard: which of several stores is in force, as far as this process may believe it, and the
// switch from one to another. The rules are those of switch_record.h, switch_copy.h and
// switch_votes.h; here is the thread that lives by them: it reads the record in time, ends switches
// whose wait is over, says that this process lives, and counts votes. It never waits for one of the
// stores: another thread asks and seals them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/circuit_breaker.h"
#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/base/switch_record.h"
#include "oncemq/base/switch_store.h"

namespace oncemq {

// When the record cannot be read for longer than the configuration lease.
enum class WhenBlind : unsigned char {
  kStrict,  // nothing is granted or extended any more
  // Go on by the last copy, as long as its store is sealed in no later epoch: whoever extends looks
  // at that behind it. Those who see a step of the record seal, so a switch may overlap with what
  // this process holds only if none of them reaches the store within a configuration lease, or
  // the store cannot be sealed. Then only fences tell them apart.
  kAvailable,
};

struct SwitchboardOptions {
  std::vector<std::string> stores;  // those that this process knows; the first is the main one
  std::string who;                  // names this process among those who vote; empty: by chance
  // Of the first record, if there is none yet; then the record decides.
  milliseconds config_lease{10'000};
  milliseconds longest{30'000};
  WhenBlind when_blind = WhenBlind::kStrict;
  // A quorum of those who live may leave a store that fails them all, for the next in order that
  // answers.
  bool automatic = true;
  BreakerOptions breaker;
  milliseconds dwell{60'000};  // no automatic switch for so long after a change
  // Makes a store refuse those of an earlier epoch. Whoever sees another record does it, until the
  // store has answered; those who ask seal it, too.
  std::function<Status(std::string_view store, uint32_t epoch)> seal;
  // Whether a store can be sealed: a drain of one that cannot is not called off (S4). Empty: all.
  std::function<bool(std::string_view store)> seals;
  // Whether a store answers and takes what it is told: V4 and V5 rest on it, so an automatic switch
  // between several stores needs it. Without one a switch ends unasked.
  std::function<Status(std::string_view store)> probe;
  // The shortest lease that this process holds; nothing: it holds none. While it holds something,
  // the target of a planned switch is asked by `probe`, six times in that lease, and the switch is
  // called off in time for the lease if the target is silent. Empty: it never holds anything.
  std::function<std::optional<milliseconds>()> shortest_held;
  // Where `seal` and `probe` are called, one call after another. Empty: on a thread of the
  // switchboard's own. Else the end of the switchboard waits for what it was given and is under
  // way there, but not for what it has not begun: that does nothing any more, and may be dropped.
  std::function<void(std::function<void()> call)> aside;
};

struct SwitchProgress {
  SwitchRecord record;
  bool good = false;                 // the copy is young enough to act by it
  std::optional<milliseconds> left;  // until a switch under way can end; none is: nothing
  size_t living = 0;                 // processes that voted or might have
};

// Its end takes two calls of the SwitchStore, and one of `seal` or `probe`, at most: what is under
// way, of each one, is waited for, no other is begun, and one that is automatic then takes back, by
// the second call, that it lives; also from a record that does not answer, since it may again.
//
// Thread safety: any thread. No call of it may be under way when it is destroyed.
class Switchboard {
 public:
  // Failures: kInvalid for options; else the store's, which must answer once.
  static Result<std::unique_ptr<Switchboard>> Open(std::shared_ptr<SwitchStore> store,
                                                   SwitchboardOptions options,
                                                   const Clock& clock = SystemClock::Instance());
  ~Switchboard();
  Switchboard(const Switchboard&) = delete;
  Switchboard& operator=(const Switchboard&) = delete;

  // What this process may act by now. kUnavailable: it has heard nothing for too long, or does not
  // know a store that is in force or to come, until another one is.
  Result<SwitchRecord> InForce() const;
  SwitchProgress Progress() const;
  // Requested when another record is seen than the last one.
  std::stop_token changed() const;
  // There is news, says a store: reads the record soon.
  void ReadSoon();

  // Begins, or calls off, in the record itself: true for everybody who reads it from now on.
  Result<SwitchRecord> Begin(std::string_view to, SwitchMode mode, std::string_view why);
  Result<SwitchRecord> CallOff(std::string_view why);
  // If it is this one still; else kFenced.
  Result<SwitchRecord> Begin(const SwitchRecord& meant, std::string_view to, SwitchMode mode,
                             std::string_view why);
  Result<SwitchRecord> CallOff(const SwitchRecord& meant, std::string_view why);
  // The store after the one in force, in the order of the options, around the end.
  std::string Next() const;

  // Of each call to a store: whether it may be made, and whether it was answered.
  bool Lets(std::string_view store);
  void Report(std::string_view store, bool answered);
  // Of each call that tells the target of a planned switch something, sent at `sent_at` under
  // `record`: whether the target took it. A switch to a target that takes nothing for a quarter of
  // the shortest lease held here, and for a second at least, is called off. Where none is held, the
  // longest lease of the record counts.
  void ReportTarget(const SwitchRecord& record, BootTime sent_at, const Status& taken);

 private:
  struct Parts;
  explicit Switchboard(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace oncemq
