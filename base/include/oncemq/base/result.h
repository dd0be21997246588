// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value or an Error. A strict subset of std::expected<T, Error>, so that it can be
// replaced by it.
//
// Answers are values, failures are errors: "the id is a duplicate" is an answer, "the store did not
// reply" an error. Every error says whether the failed call may have taken effect; a caller that
// may not repeat blindly asks that.
//
//   Result<EtcdLease> lease = client.Grant(seconds(30));
//   if (!lease) {
//     return lease.error();
//   }
//   Use(lease->id);
//
// Access to the half that is not there ends the process and prints the error, in every build.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace oncemq {

// Whether a failed call may have changed something. A timed-out write may: kUnknown. A refused one
// did not: kNone.
enum class Effect : unsigned char { kNone, kUnknown };

enum class Code : unsigned char {
  kInvalid,      // the caller's argument or the configuration is wrong; repeating does not help
  kUnavailable,  // the other side is not there now; repeat later
  kRefused,      // the server does not let us in; repeat seldom, or it may lock the account
  kTimeout,      // no reply in time
  kBusy,         // too many ask at once, and the same call may succeed when repeated
  kFenced,       // somebody with a newer right has taken over
  kFull,         // a stated limit is reached
  kCorrupt,      // bytes that should be ours cannot be read
  kLostWrites,   // a store is sound, and has less than it had acknowledged
  kNotFound,     // the thing asked for does not exist
  kInternal,     // a bug of ours that could be reported instead of ending the process
};

std::string_view ToString(Code code);

struct Error {
  Code code = Code::kInternal;
  Effect effect = Effect::kNone;
  std::string message;
};

// "unavailable (may have taken effect): connection reset"
std::string ToString(const Error& error);

// The end of an access to the missing half of a Result.
[[noreturn]] void NoValue(const Error& error);
[[noreturn]] void NoError();

template <class T>
class [[nodiscard]] Result {
  template <class State>
  static auto& Value(State& state) {
    if (state.index() != 0) [[unlikely]] {
      NoValue(*std::get_if<1>(&state));
    }
    return *std::get_if<0>(&state);
  }
  template <class State>
  static auto& Failure(State& state) {
    if (state.index() != 1) [[unlikely]] {
      NoError();
    }
    return *std::get_if<1>(&state);
  }

 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& operator*() & { return Value(state_); }
  const T& operator*() const& { return Value(state_); }
  T&& operator*() && { return std::move(Value(state_)); }
  T* operator->() { return &Value(state_); }
  const T* operator->() const { return &Value(state_); }
  const Error& error() const { return Failure(state_); }
  Error& error() { return Failure(state_); }
  template <class U>
  T value_or(U&& other) const {
    return has_value() ? **this : static_cast<T>(std::forward<U>(other));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const Error& error() const {
    Check();
    return *error_;
  }
  Error& error() {
    Check();
    return *error_;
  }

 private:
  void Check() const {
    if (!error_) [[unlikely]] {
      NoError();
    }
  }

  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace oncemq
