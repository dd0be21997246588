// SPDX-License-Identifier: Apache-2.0
// Granted<T>: the answer to a request for names. It has a T, or none because others hold a name.
//
//   const auto lease = domain.TryAcquire("nightly");
//   if (!lease) return lease.error();       // the store failed
//   if (!*lease) return;                    // not granted
//   Write((*lease)->fence());
//
// Access to what was not granted ends the process, in every build.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "oncemq/base/check.h"

namespace oncemq {

struct NotGranted {};
inline constexpr NotGranted kNotGranted;

// T may be a reference to an object of another owner.
template <class T>
class [[nodiscard]] Granted {
  using Right = std::remove_reference_t<T>;
  using Kept = std::conditional_t<std::is_reference_v<T>, Right*, std::optional<Right>>;

  static Kept Keep(Right& right) {
    if constexpr (std::is_reference_v<T>) {
      return &right;
    } else {
      return std::move(right);
    }
  }
  template <class State>
  static auto& Of(State& right) {
    ONCEMQ_CHECK(right, "only what was granted is used");
    return *right;
  }

 public:
  Granted(NotGranted = {}) {}
  Granted(T right) : right_(Keep(right)) {}

  bool has_value() const { return static_cast<bool>(right_); }
  explicit operator bool() const { return has_value(); }
  Right& operator*() & { return Of(right_); }
  const Right& operator*() const& { return Of(right_); }
  T&& operator*() && { return static_cast<T&&>(Of(right_)); }
  Right* operator->() { return &Of(right_); }
  const Right* operator->() const { return &Of(right_); }

 private:
  Kept right_{};
};

}  // namespace oncemq
