// SPDX-License-Identifier: Apache-2.0
// SwitchedLocks: one lock engine over several, of which one is in force; which, a switchboard says,
// and a running service can be moved from one to another. Cerberus' switchEngine().
//
// Limits, first. A planned switch needs both stores to answer and to seal; holds move to the other
// store, and nobody notices. A store that is gone is drained: for the configuration lease and the
// longest lease nothing is granted but to those whose effects are all fenced (AcquireOptions::
// fenced), because its holders may still believe. The record must be kept elsewhere than in the
// store that is left. Nobody may ask a store of a switchboard past it: the seal refuses them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "oncemq/base/switchboard.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

// A store that a switchboard can bring into force.
struct NamedLocks {
  std::string name;
  LockCapabilities capabilities;
  // Called until it succeeds, when the store is first needed: a service starts though one of its
  // stores is down.
  std::function<Result<std::shared_ptr<LockEngine>>()> open;
};

// What stands at an address, opened when it is needed. Failures: CapabilitiesAt's.
Result<NamedLocks> NamedLocksAt(const std::string& name, const std::string& address,
                                const std::string& space);

// What all of them can, behind a switchboard whose record allows any lease; `seals` too, though it
// is the switchboard that does it: then a switch can keep what is held. kInvalid where they cannot
// be switched: two of a name, or an engine that cannot be one of several
// (LockCapabilities::epochs).
Result<LockCapabilities> SwitchedCapabilities(const std::vector<NamedLocks>& stores);

// Where a switch stands.
struct LockSwitch {
  std::string in_force;
  std::string target;  // empty: no switch is under way
  SwitchMode phase = SwitchMode::kSingle;
  uint32_t epoch = 0;
  // In a planned switch only: holds that have not moved yet, of the first 1,000 names in byte
  // order. Nothing: a store did not answer, or half a second was not enough to look at these.
  std::optional<size_t> holds_left;
  std::optional<milliseconds> left;  // until the target alone is in force
  std::string why;                   // for people: what was said with the last change
};

// The course of a switch where no planned one is possible: the store in force does not answer the
// process that asks for the switch, or one of the two cannot be sealed.
enum class UnlessPlanned : unsigned char {
  kDrain,   // nothing but what is fenced is granted until the wait is over
  kRefuse,  // with the error of the store in force, or kInvalid; nothing was changed
};

// Promise, beyond LockEngine's: what is granted by one store is granted by no other, whichever
// stores are in force meanwhile; fences of a later epoch are greater. What it can do is what all of
// its stores can, so any of them may come into force. Its end is a Switchboard's, of which a `seal`
// is one call of a store, and a `probe` three at most, behind one opening; then its stores end.
//
// Thread safety: any thread.
class SwitchedLocks final : public LockEngine {
 public:
  // The order of the stores is that of SwitchToNext(); the first is the main one. Of `options`, the
  // stores, the functions that ask and seal them, and the shortest lease held are filled in here.
  // Failures: those of SwitchedCapabilities(), and of the record.
  static Result<std::shared_ptr<SwitchedLocks>> Open(std::vector<NamedLocks> stores,
                                                     std::shared_ptr<SwitchStore> record,
                                                     SwitchboardOptions options = {},
                                                     const Clock& clock = SystemClock::Instance());
  ~SwitchedLocks() override;

  // Begins a switch to the store of this name. Planned if both stores answer and seal, else as
  // `unless` says. Takes a name of its own in both stores for a moment, changes the record, counts
  // holds_left, which takes half a second and seven calls of a store at most, and returns: the
  // switch goes on by itself, in whichever process lives. One to that store that is under way, or
  // over, is answered as it stands. Failures: kInvalid, kUnavailable (the target does not answer,
  // or the record), kFenced (somebody else was quicker), and with what the target refuses that
  // name.
  Result<LockSwitch> SwitchTo(std::string_view name, std::string_view why,
                              UnlessPlanned unless = UnlessPlanned::kDrain);
  // The same, to the next store in order; after the last one comes the first.
  Result<LockSwitch> SwitchToNext(std::string_view why,
                                  UnlessPlanned unless = UnlessPlanned::kDrain);
  // Until the target alone is in force. Failures: kInvalid (there is no switch, or it leaves a
  // store that cannot be sealed: that one has to end), kFenced, kUnavailable.
  Result<LockSwitch> CallOff(std::string_view why);
  // Counts holds_left anew.
  LockSwitch Progress();

  const LockCapabilities& capabilities() const override;
  Result<LockAnswer> Request(const AcquireRequest& request) override;
  Status Await(const AcquireRequest& request, BootTime until, const std::stop_token& stop) override;
  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override;
  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override;
  Result<size_t> Recall(std::string_view name) override;
  Result<Freed> Evict(std::string_view name, const Fence& fence) override;
  Result<LockView> Read(std::string_view name) override;
  Result<std::vector<std::string>> Names(std::string_view after, size_t limit) override;
  // It is the switchboard that seals: kInvalid.
  Result<uint32_t> Seal(uint32_t epoch) override;
  // What each of its stores doubts is passed on.
  void Listen(HoldListener& listener) override;
  void Unlisten(HoldListener& listener) override;

 private:
  struct Parts;
  explicit SwitchedLocks(std::unique_ptr<Parts> parts);
  Status ExtendTheRest(std::span<const LockClaim> claims, std::span<Extended> answers,
                       const std::function<bool(const LockClaim&)>& without);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace oncemq
