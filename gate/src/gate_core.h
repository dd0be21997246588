// SPDX-License-Identifier: Apache-2.0
// GateCore: gate and tickets share it. An operation is one id of the window, claimed without a
// partition and without ownership (transitions 1, 4, 5 and 6).
//
// Thread safety: any thread; an operation belongs to one at a time.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oncemq/base/mutex.h"
#include "oncemq/gate/gate.h"

namespace oncemq {

// A claimed operation, until its word is said.
struct Ticket::Operation {
  std::shared_ptr<GateCore> core;
  Window* window = nullptr;
  std::string ref;    // its id
  std::string index;  // the id of its contents; empty: they are not looked for
  Token token;
  uint64_t digest = 0;  // as in StoredAnswer
  bool uncertain = false;
  bool unprotected = false;
  bool finished = false;  // Final() was said: the effect is there, on record or not
};

class GateCore final : public std::enable_shared_from_this<GateCore> {
 public:
  GateCore(std::shared_ptr<Window> window, const GateOptions& options, const Clock& clock);

  PreAnswer Pre(const Contents& contents, const PreOptions& options);
  Result<MarkerView> Show(std::string_view ref);
  Status Resolve(std::string_view ref, Gate::Outcome outcome, std::string_view why);
  GateCounts counts() const;
  const GateOptions& options() const { return options_; }

  // Of a ticket. `result`: nullptr for one that is not stored.
  Status Finish(Ticket::Operation& held, const std::string_view* result);
  Status Free(Ticket::Operation& held, bool uncertain);
  Status Renew(const Ticket::Operation& held, milliseconds lease);
  void Dropped(Ticket::Operation& held);

 private:
  // One way in which the program makes the contents of an operation.
  struct Version {
    uint8_t recipe = 0;
    uint32_t fingerprint = 0;  // 0: nothing is compared
    uint64_t digest = 0;
  };
  struct Claimed {
    ClaimAnswer answer;
    ClaimAnswer index;
    uint64_t digest = 0;  // of the version that the record has
  };
  using Operation = Ticket::Operation;
  using OperationPtr = std::unique_ptr<Operation>;

  OperationPtr NewOperation(const Contents& contents, const PreOptions& options);
  static std::vector<Version> VersionsOf(const Contents& contents, uint8_t recipe,
                                         const PreOptions& options);
  // `decider`: the window that has answered. A call that waits asks it alone: by its record
  // somebody runs the operation.
  PreAnswer Once(const Operation& operation, std::span<const Version> versions, BootTime until,
                 const Window*& decider);
  // Failure: `claimed.answer` is kConflict where an earlier version was judged, so that there is a
  // record.
  Status Claim(const Operation& operation, std::span<const Version> versions, bool takes_uncertain,
               BootTime until, Claimed& claimed);
  PreAnswer Judge(const Operation& operation, std::span<const Version> versions, Claimed claimed,
                  BootTime until);
  PreAnswer Granted(const Operation& operation, const Claimed& claimed);
  PreAnswer Duplicate(const Operation& operation, const Claimed& claimed);
  PreAnswer Conflict(const Operation& operation, std::span<const Version> versions, BootTime until);
  PreAnswer Failed(const Operation& operation, const Error& error);
  PreAnswer Permit(const Operation& operation);
  void Count(const PreAnswer& answer);
  // Begins no call after `until`, and repeats one that was not answered as long as another one fits
  // in before it.
  static Status CallWindow(const Window& window, BootTime until,
                           const std::function<Status()>& call);
  Status Release(const Operation& operation, bool uncertain, BootTime until);
  Status ClaimAfterwards(const Operation& held, BootTime until);
  // A claim that nobody uses, and that may be on record: it is released before a later claim.
  void Abandon(const Operation& operation);
  Status ReleaseOrAbandon(const Operation& operation, BootTime until);
  void ReleaseAbandoned(Window& window, BootTime until);
  Status ResolveClaimed(Operation& operation, Gate::Outcome outcome);
  Status Audit(std::string_view ref, Gate::Outcome outcome, std::string_view why,
               std::string_view result) const;
  Token NewToken() { return {process_, ++attempts_}; }
  bool TakesUncertain() const { return options_.uncertain == GateOptions::Uncertain::kPermit; }
  BootTime Until() const { return BootNow() + options_.within; }

  const std::shared_ptr<Window> window_;
  const GateOptions options_;
  const Clock& clock_;
  const bool opaque_;
  const uint64_t process_;
  std::atomic<uint64_t> attempts_{0};

  struct Totals {
    std::atomic<uint64_t> permitted{0};
    std::atomic<uint64_t> duplicates{0};
    std::atomic<uint64_t> in_progress{0};
    std::atomic<uint64_t> conflicts{0};
    std::atomic<uint64_t> uncertain{0};
    std::atomic<uint64_t> errors{0};
    std::atomic<uint64_t> unprotected{0};
    std::atomic<uint64_t> unmarked{0};
    std::atomic<uint64_t> next_engine{0};
    std::atomic<uint64_t> dropped{0};
    std::atomic<uint64_t> overtaken{0};
    std::atomic<uint64_t> twins{0};
  };
  Totals totals_;

  struct UnusedClaim {
    Window* window = nullptr;
    std::string id;
    Token token;
  };
  Mutex mutex_;
  std::vector<UnusedClaim> abandoned_ GUARDED_BY(mutex_);
  std::atomic<bool> any_abandoned_{false};
};

}  // namespace oncemq
