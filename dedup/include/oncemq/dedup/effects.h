// SPDX-License-Identifier: Apache-2.0
// Effects: rows of a handler's own, kept in the store of its partition and written in one batch
// with the marker of the message (level atomic). Either both are there after a crash, or neither.
//
//   Effects& ledger = *context.effects();
//   Status booked = ledger.Add("balance/" + payment.payer, -payment.amount);
//   if (booked) booked = ledger.Put("posting/" + std::string(context.id()), payment.details);
//   if (booked) return Done{};  // any other answer, and none of it is written
//   if (booked.error().code == Code::kInvalid) return Reject{booked.error().message};
//   return Retry{};
//
// Promise: a handler reads its own writes and those of earlier messages in the same batch. Rows
// belong to one partition.
//
// Limits: two batches of one partition may be at work at the same time, with different keys. Change
// a row that messages of different keys share by Add(), or Watch() it: the later batch is not
// written then, and its messages come again.
//
// Failure: Status, with nothing changed. kFull: too many bytes in one batch. kInvalid: a key that
// is empty or too long, or a sum that leaves int64_t.
//
// Thread safety: none; belongs to the handler's call. ScanEffects() (local_window.h) reads them
// from outside, once no process holds the store.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "oncemq/base/result.h"

namespace oncemq {

// A batch is many messages: what its earlier ones have written is missing to its later ones. Who is
// told kFull answers Retry, and begins the next batch with all of it.
inline constexpr size_t kMaxEffectKeyBytes = 4'096;
inline constexpr size_t kMaxEffectBytes = size_t{64} << 20;  // of keys and values of one batch

class Effects {
 public:
  virtual Result<std::optional<std::string>> Get(std::string_view key) = 0;
  // As Get, and the batch rests on that row: it is written only if the row in the store is then as
  // it is now. So who changes a row that others watch must never write the bytes of an earlier
  // time.
  virtual Result<std::optional<std::string>> Watch(std::string_view key) = 0;
  virtual Status Put(std::string_view key, std::string_view value) = 0;
  virtual Status Delete(std::string_view key) = 0;
  // A row that is a sum: 8 bytes, little-endian; one that is not there is 0. Sums that several
  // batches change at the same time come out right, so what Get() says of them may be old by the
  // end.
  virtual Status Add(std::string_view key, int64_t delta) = 0;

 protected:
  ~Effects() = default;
};

// The value of a sum; nothing if the bytes are none.
std::optional<int64_t> SumOf(std::string_view value);

class SqlEffects;
class Window;

// The effects of one batch, message by message. For the code that drives handlers.
class EffectBatch {
 public:
  virtual ~EffectBatch() = default;
  // The window that made it, and the only one that takes it; nullptr: no window does.
  const Window* window() const { return window_; }
  // A message begins, in this attempt of its handler. A later refusal names both.
  void BeginMessage(std::string_view id, uint32_t attempt) {
    id_ = id;
    attempt_ = attempt;
    Begin();
  }
  virtual void Begin() = 0;  // the same, without a name
  // It is done. Failure: something that it wrote was refused, and the handler did not notice;
  // nothing of it stays.
  virtual Status Keep() = 0;
  virtual void Undo() = 0;  // it is not done: nothing of it stays
  // Why Keep() would fail; empty: nothing was refused so far. Valid until the next call.
  virtual std::string_view refusal() const { return {}; }
  // It takes no further message.
  virtual bool Full() const { return false; }
  // Where handlers write; nullptr: the window has no such place.
  virtual Effects* rows() { return nullptr; }
  virtual SqlEffects* sql() { return nullptr; }

 protected:
  explicit EffectBatch(const Window* window = nullptr) : window_(window) {}
  // Of the present message.
  std::string_view id() const { return id_; }
  uint32_t attempt() const { return attempt_; }

 private:
  const Window* window_;
  std::string_view id_;
  uint32_t attempt_ = 0;
};

}  // namespace oncemq
