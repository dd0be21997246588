// SPDX-License-Identifier: Apache-2.0
// What a user writes: a function from a message to an outcome.
//
//   Outcome OnPayment(const Message& message, Context& context) {
//     const auto payment = Decode(message.value());
//     if (!payment) return Reject{"not a payment"};
//     return ledger.Post(*payment, context.id()) ? Outcome(Done{}) : Outcome(Retry{});
//   }
//
// A handler may throw (the runtime takes that for Retry) and may block (the runtime then moves it
// to a worker). Handlers of different keys may run at the same time; of one key, never.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/token.h"
#include "oncemq/dedup/window.h"
#include "oncemq/framework/outcome.h"
#include "oncemq/framework/trace.h"
#include "oncemq/locks/lock_domain.h"

namespace oncemq {

// A null value is no value; an empty one is a value without bytes.
struct MessageHeader {
  std::string_view name;
  std::optional<std::string_view> value;
  bool operator==(const MessageHeader&) const = default;
};

// A record as it arrived. A view: everything it hands out is valid until the handler returns.
//
// Thread safety: none; belongs to the handler's call.
class Message {
 public:
  virtual std::string_view topic() const = 0;
  virtual int32_t partition() const = 0;
  virtual int64_t offset() const = 0;
  virtual int64_t timestamp_ms() const = 0;  // -1: none
  virtual std::optional<std::string_view> key()
      const = 0;  // nothing: no key, which is not an empty one
  virtual std::optional<std::string_view> value() const = 0;  // nothing: a tombstone
  virtual std::optional<std::string_view> header(
      std::string_view name) const = 0;  // the last one of that name; a null value is empty here
  // All of them, in the order of the record, also several of one name. Values are any bytes.
  // Headers are read when a handler asks for them; a handler that does not ask pays nothing.
  virtual std::vector<MessageHeader> headers() const = 0;

 protected:
  ~Message() = default;
};

class MessageLocks;

// What the runtime knows about this call.
class Context {
 public:
  Context(std::string_view id, Token token, OwnerEpoch owner_epoch, uint32_t attempt,
          bool uncertain, const std::stop_token& stop, EffectBatch* effects = nullptr,
          MessageLocks* locks = nullptr, const Message* message = nullptr)
      : id_(id),
        token_(token),
        owner_epoch_(owner_epoch),
        attempt_(attempt),
        uncertain_(uncertain),
        stop_(stop),
        effects_(effects),
        locks_(locks),
        message_(message) {}

  // Names the operation. A guarded target stores it in the same write as the effect. Empty without
  // a window, and for a message that passes without an id (MissingId::kPass): then it names
  // nothing, and a target must not take two such messages for copies.
  std::string_view id() const { return id_; }
  // The partition's ownership fence, for targets that read before they write: rises from owner to
  // owner, by the window's store and by the last commit. Where both are gone (an operator's reset)
  // it rises as far as the clocks of the machines agree.
  OwnerEpoch fence() const { return owner_epoch_; }
  Token token() const { return token_; }
  // 1 for the first call. Grows by one with every further call for this delivery; attempts of
  // earlier owners are counted as far as the window still knows of them. At the opaque level a call
  // that an owner before us may have made counts as one, also where its window was another one. At
  // guarded and atomic a window that outlives the process knows of the attempts that failed
  // (docs/guarantees.md).
  uint32_t attempt() const { return attempt_; }
  // An earlier attempt may have had its effect: it ended without a word, threw, or answered Retry
  // without `not_done`. At the opaque level it says so of all that a killed process had claimed,
  // called or not; on another host of all that it may have begun since its last commit (rule 11).
  // At guarded it says nothing of a process that was killed: always ask the target.
  bool uncertain() const { return uncertain_; }
  // The trace of the message, to be passed on. Its id stands in each line of this thread during
  // the call. Headers are read on demand.
  TraceContext trace() const { return message_ == nullptr ? TraceContext() : TraceOf(*message_); }
  // Requested when the right to run is about to end.
  const std::stop_token& stop() const { return stop_; }
  // Where to write the effect, at the level atomic: rows of the partition's own store (rocksdb)...
  Effects* effects() const { return effects_ != nullptr ? effects_->rows() : nullptr; }
  // ...or the transaction of the database (postgres; sql_effects.h). nullptr where the window has
  // none, and at the other levels.
  SqlEffects* sql() const { return effects_ != nullptr ? effects_->sql() : nullptr; }

  // Waits for the name and holds it until the handler has returned; at the level atomic until its
  // effects are written. Not granted: stop() was requested, or as `how` says. A
  // name that this call holds already is the same lease. Effects that must not come from an earlier
  // holder carry the lease's fence (docs/locks.md).
  // A lease that is lost before the handler returns: whatever it answers, the message is not
  // completed and comes again, uncertain. At the level atomic nothing is written under a lease that
  // is lost by then either; what a pause between that look and the write lets through is refused to
  // FencedEffects only. Failures: kInvalid (no locks in RuntimeOptions), kUnavailable (the runtime
  // has ended without this call, and the locks with it), else LockDomain's.
  Result<Granted<const Lease&>> Lock(std::string_view name, AcquireOptions how = {});
  // All of them or, if one is not granted, none. Handlers that take several names
  // one by one may wait for each other for ever; this takes them in one order for all. kInvalid if
  // this call holds any lease already.
  Result<Granted<std::vector<const Lease*>>> LockAll(std::span<const std::string> names,
                                                     AcquireOptions how = {});

 private:
  std::string_view id_;
  Token token_;
  OwnerEpoch owner_epoch_;
  uint32_t attempt_;
  bool uncertain_;
  const std::stop_token&
      stop_;  // the batch's: a copy for each message would cost two shared counters
  EffectBatch* effects_;
  MessageLocks* locks_;
  const Message* message_;
};

using Handler = std::function<Outcome(const Message&, Context&)>;

}  // namespace oncemq
