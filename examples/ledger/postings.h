// SPDX-License-Identifier: Apache-2.0
// Events of the ledger, and the SQL of each. Pure logic: nothing is read or written.
//
//   const auto event = ledger::Decode(*message.value());
//   if (!event) return oncemq::Reject{event.error().message};
//   const auto booking = ledger::BookingOf(*event, context.id(), message.timestamp_ms());
//
// Thread safety: values and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "oncemq/base/result.h"
#include "oncemq/clients/sql_session.h"

namespace ledger {

// Stands for the world: a deposit comes from there. It may be negative, and nobody can name it.
inline constexpr std::string_view kOutside = "outside";

struct OpenAccount {
  std::string account;
};
// A transfer; with the payer kOutside, a deposit.
struct Move {
  std::string payer;
  std::string payee;
  int64_t cents = 0;
};
struct CloseDay {
  std::string day;  // 2026-11-21
};
struct Statement {
  std::string account;
};
using Event = std::variant<OpenAccount, Move, CloseDay, Statement>;

// An event that is refused, with the reason for the file of refused messages: kInvalid.
oncemq::Error Refusal(std::string why);

// Failure: a Refusal.
oncemq::Result<Event> Decode(std::string_view bytes);
std::string Encode(const Event& event);

// The key of its message.
std::string KeyOf(const Event& event);

// Double entry: the sum is zero.
struct Posting {
  std::string_view account;
  int64_t cents = 0;
};
std::array<Posting, 2> PostingsOf(const Move& move);

// Statements that are views of the event and its id.
struct SqlBooking {
  std::optional<oncemq::SqlStatement> before;  // never refused
  oncemq::SqlStatement book;
  uint64_t rows = 0;           // that `book` writes, if it is to count
  std::string_view otherwise;  // the reason where it writes fewer
};
SqlBooking BookingOf(const Event& event, std::string_view id, int64_t at_ms);

// Closes a day, unless it is closed: for an event, and for the command.
SqlBooking BookingOf(const CloseDay& close, std::string_view closed_by);

}  // namespace ledger
