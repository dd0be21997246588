// SPDX-License-Identifier: Apache-2.0
// Gate: an operation happens once, however often it is asked for. Over any window, without Kafka.
//
//   PreAnswer pre = gate.Pre(Contents::OfFields({{"order", "17"}, {"cents", 1250}}));
//   if (pre.state == PreState::kDuplicate) return pre.result;  // of the first run
//   if (pre.state == PreState::kPermitted) pre.ticket.Final(Charge());
//
// Promise: of all calls for one operation one is permitted at a time, and none after its Final()
// for as long as the retention says. A call takes at most `within`, retries included; over RocksDB
// as long as the disk takes.
//
// Limits: an operation whose holder is gone is permitted again at the level guarded, so its target
// must recognise it. At opaque it is uncertain: told, and on record until an operator has resolved
// it. A server that loses acknowledged changes loses operations with them (docs/gate.md).
//
// Failure: PreState::kError with an Error, as `fault` says. A Final() that fails may be repeated,
// and its operation is never freed any more. A Fail() that fails is repeated before a later Pre().
//
// Thread safety: any thread; a Ticket belongs to one at a time. Tickets may outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/dedup/window.h"
#include "oncemq/gate/contents.h"

namespace oncemq {

// How long a finished operation is known: for at most a century, or for ever. A moment that is
// further away is for ever. The time until then is reckoned once, at Final(), by the caller's
// clock; from then on the clock of the store counts.
class Retention {
 public:
  static Retention Forever() { return Retention(Kind::kFor, kForEver, {}); }
  static Retention For(milliseconds time) { return Retention(Kind::kFor, time, {}); }
  static Retention Until(WallTime moment) { return Retention(Kind::kUntil, {}, moment); }
  // It is forgotten soon after its Final(): copies next to it are held back, later ones are not.
  // Soon is 2 `within`, also the least of the other kinds, so that a Final() whose answer was lost
  // can be repeated.
  static Retention None() { return Retention(Kind::kNone, {}, {}); }

  // From `now` on.
  milliseconds Keep(WallTime now) const;

 private:
  enum class Kind : uint8_t { kFor, kUntil, kNone };
  Retention(Kind kind, milliseconds time, WallTime moment)
      : kind_(kind), time_(time), moment_(moment) {}

  Kind kind_;
  milliseconds time_;
  WallTime moment_;
};

struct GateOptions {
  // The first part of every key: a-z, 0-9, `.`, `_` and `-`, at most 64.
  std::string application;
  // How long a holder may be silent (Ticket::Renew): at most a year. Lower it to a little more than
  // the operation takes, so that a dead holder is known soon.
  milliseconds lease = std::chrono::hours(1);
  Retention retention = Retention::For(std::chrono::hours(24 * 7));
  // How long a result is given to duplicates; 0: as long as the operation is known. By the clocks
  // of the callers: where they differ, it ends so much earlier or later.
  milliseconds keep_result{0};
  // A whole call, Pre() or Final(), with its retries. Raise it for a window far away, whose longest
  // call must fit in.
  milliseconds within{200};

  // Of Pre(), when the window does not answer in time.
  enum class Fault : uint8_t {
    kReturnError,
    // The operation runs without protection, and is counted. Its Final() writes it down if the
    // window answers by then; otherwise a later copy runs too (rule 34). Neither this nor the next
    // where the window is only too busy (kBusy), or has answered a call that waits: that is an
    // error.
    kPermitUnprotected,
    // `next` decides. Neither window knows the finished operations of the other one: a copy
    // on the other side of either change runs twice (rule 33).
    kNextEngine,
  };
  Fault fault = Fault::kReturnError;
  std::shared_ptr<Window> next;

  // Of a ticket that goes without a word.
  enum class Dropped : uint8_t {
    kFailed,     // the operation is free at once, as after Fail()
    kUncertain,  // its lease runs out; at the level opaque it is uncertain then
  };
  Dropped dropped = Dropped::kFailed;

  // Of Pre(), for an operation that may have had its effect.
  enum class Uncertain : uint8_t {
    kReport,  // PreState::kUncertain; a late Final() of its holder still counts
    kPermit,  // a ticket that says so: the caller finds out, or its target does
  };
  Uncertain uncertain = Uncertain::kReport;

  // Number of the way in which this program makes contents: 1 to 255. It is kept with each
  // operation that has a key of the caller's.
  uint8_t recipe = 1;
  // Where Resolve() appends a line, besides the log. Empty: the log alone.
  std::string audit_file;
};

// The contents as an earlier version of the program made them.
struct EarlierContents {
  uint8_t recipe = 0;
  Contents contents;
};

struct PreOptions {
  // The caller's own idempotency key. With one, other contents under the same key are a conflict;
  // without, the contents are the key.
  std::string_view key = {};
  // The key is unique in it: as tenant and route.
  std::vector<std::string_view> scope = {};
  // How long the outcome of a run that is under way is waited for, in addition to `within`: at most
  // a year, also where it is kForEver.
  milliseconds wait{0};
  // For operations that were begun before the recipe changed.
  std::vector<EarlierContents> earlier = {};
  // Tells of other keys with the same contents (PreAnswer::twin). Costs a second id an operation.
  bool find_twins = false;
};

enum class PreState : uint8_t {
  kPermitted,   // run it, and say Final() or Fail()
  kDuplicate,   // it has happened
  kInProgress,  // somebody runs it now
  kConflict,    // the key was used for other contents
  kUncertain,   // it may have happened, and nobody knows: for an operator
  kError,
};
std::string_view ToString(PreState state);

class GateCore;

// The right to run one operation.
class Ticket {
 public:
  Ticket();
  Ticket(Ticket&&) noexcept;
  Ticket& operator=(Ticket&&) noexcept;
  ~Ticket();  // without a word before: as GateOptions::dropped says

  // Whether it still waits for a word.
  explicit operator bool() const { return operation_ != nullptr; }
  std::string ref() const;  // of the operation; empty without one
  // An earlier attempt may have had its effect (GateOptions::Uncertain::kPermit).
  bool uncertain() const;
  // No window protects it (GateOptions::Fault::kPermitUnprotected).
  bool unprotected() const;

  // The effect has happened. kFenced: somebody else has taken the operation over, and may have run
  // it too. Another error: it is not on record, and the call may be repeated. A result that the
  // window cannot hold is not stored: duplicates are told that it is finished.
  Status Final(std::string_view result = {});
  // The same, with an answer that is never stored.
  Status FinalWithoutResult();
  // It surely has not happened: the next call may run it. kInvalid after a Final() that failed.
  Status Fail();
  // Nobody knows. At the level opaque the operation is uncertain at once, at guarded it is free. An
  // error: it is so when its lease ends; without protection there is no record of it.
  Status Unsure();
  // A heartbeat: the lease ends `lease` from now (0: GateOptions::lease), and never earlier than
  // before; at most a year after Pre(). kFenced: it cannot be renewed any more, because somebody
  // else has taken the operation over or its lease has ended. The ticket waits for its word all the
  // same: Final() tells which. Another error: the lease is as it was, or longer; the call may be
  // repeated. kInvalid after a Final(). Without protection there is nothing to renew.
  Status Renew(milliseconds lease = milliseconds(0)) const;

 private:
  friend class GateCore;
  struct Operation;
  explicit Ticket(std::unique_ptr<Operation> held);
  Status Say(bool with_result, std::string_view result);
  void Drop();

  std::unique_ptr<Operation> operation_;
};

struct PreAnswer {
  PreState state = PreState::kError;
  Ticket ticket;       // kPermitted
  std::string result;  // kDuplicate: as the first run gave it
  // Whether `result` is that. False: finished, but its result was not stored, is too old, or was
  // never known (an operator resolved it).
  bool has_result = false;
  // Names the operation, for people and for Show() and Resolve(). Empty only for wrong arguments.
  std::string ref;
  // Surely nothing of this has happened or will: the caller may try under another key. False also
  // where the record could not be looked at.
  bool safe_new_key = false;
  milliseconds retry_after{0};  // kInProgress, kError: when it is worth asking again
  // kConflict: the contents were recorded under a recipe that this program does not know.
  bool policy_changed = false;
  // Another operation with the same contents (PreOptions::find_twins): its ref; while it still
  // runs, the ref of the contents.
  std::string twin;
  Error error;  // kError
};

struct GateCounts {
  uint64_t permitted = 0;
  uint64_t duplicates = 0;
  uint64_t in_progress = 0;
  uint64_t conflicts = 0;
  uint64_t uncertain = 0;
  uint64_t errors = 0;
  uint64_t unprotected = 0;  // of the permitted: no window protected them
  uint64_t unmarked = 0;     // of these: finished without a record
  uint64_t next_engine = 0;  // answered by the second window
  uint64_t dropped = 0;      // tickets without a word
  uint64_t overtaken = 0;    // Final() came after somebody else had taken over
  uint64_t twins = 0;
  // Of the windows (Window::losses), also found by their opening. Operations may be gone then, and
  // run again.
  uint64_t losses = 0;
  uint64_t possible_losses = 0;
};

class Gate {
 public:
  // kInvalid: impossible options, or a window that is not for a gate: one with a store for
  // each partition, at the level atomic, without times of its own (WindowCapabilities::timed), or
  // whose calls may last longer than `within`. `clock` outlives gate and tickets.
  static Result<std::unique_ptr<Gate>> Open(std::shared_ptr<Window> window,
                                            const GateOptions& options,
                                            const Clock& clock = SystemClock::Instance());
  ~Gate();

  // Blocks: for at most `within`, and `wait`.
  PreAnswer Pre(const Contents& contents, const PreOptions& options = {});

  // As it is on record in the first window, not in `next`. Without a record: MarkerState::kNone.
  // kInvalid: no gate made this ref.
  Result<MarkerView> Show(std::string_view ref);

  // An operator's word on an operation without an outcome. It has happened: duplicates are told
  // so. It has not: the next call runs it. kUnavailable: a caller holds it still; kNotFound: there
  // is none that is open; kInvalid: no gate made this ref. Written to the log and the audit file,
  // before and after.
  enum class Outcome : uint8_t { kApplied, kNotApplied };
  Status Resolve(std::string_view ref, Outcome outcome, std::string_view why);

  GateCounts counts() const;
  const GateOptions& options() const;

 private:
  explicit Gate(std::shared_ptr<GateCore> core);
  std::shared_ptr<GateCore> core_;
};

}  // namespace oncemq
