// SPDX-License-Identifier: Apache-2.0
#include "postings.h"

#include <algorithm>
#include <cctype>

#include "ledger.pb.h"
#include "sql/closing_sql.h"
#include "sql/deposit_sql.h"
#include "sql/statement_sql.h"
#include "sql/transfer_sql.h"

namespace ledger {
namespace {

using oncemq::Result;
using oncemq::SqlStatement;

constexpr size_t kLongestName = 64;

// No `/`, so that a name can stand in a key of RocksDB.
bool IsAccount(std::string_view name) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= kLongestName && name != kOutside &&
         std::all_of(name.begin(), name.end(), fits);
}

// The database knows whether there is such a day.
bool IsDay(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00";
  return text.size() == kForm.size() &&
         std::equal(text.begin(), text.end(), kForm.begin(), [](unsigned char c, char form) {
           return form == '0' ? std::isdigit(c) != 0 : c == '-';
         });
}

oncemq::Error WrongAccount() {
  return Refusal("an account has 1 to 64 letters, digits, - _ and . and is not `outside`");
}

Result<Event> Checked(Move move, bool from_outside) {
  if ((!from_outside && !IsAccount(move.payer)) || !IsAccount(move.payee)) {
    return WrongAccount();
  }
  if (move.payer == move.payee) {
    return Refusal("payer and payee are the same account");
  }
  if (move.cents <= 0) {
    return Refusal("the amount must be more than 0 cents");
  }
  return Event(std::move(move));
}

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

SqlBooking BookMove(const Move& move, std::string_view id, int64_t at_ms) {
  if (move.payer == kOutside) {
    return {.before = {},
            .book = {oncemq::kDepositSql, {id, std::string_view(move.payee), move.cents, at_ms}},
            .rows = 2,
            .otherwise = {}};
  }
  // The lock comes first: a transfer that had to wait then sees the rows of the one before it.
  return {
      .before = SqlStatement{"SELECT FROM accounts WHERE name = convert_from($1, 'UTF8') "
                             "FOR NO KEY UPDATE",
                             {std::string_view(move.payer)}},
      .book = {oncemq::kTransferSql,
               {id, std::string_view(move.payer), std::string_view(move.payee), move.cents, at_ms}},
      .rows = 2,
      .otherwise = "the payer has no account"};
}

}  // namespace

oncemq::Error Refusal(std::string why) {
  return {oncemq::Code::kInvalid, oncemq::Effect::kNone, std::move(why)};
}

Result<Event> Decode(std::string_view bytes) {
  wire::Event event;
  if (!event.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Refusal("no event of the ledger");
  }
  switch (event.kind_case()) {
    case wire::Event::kOpenAccount: {
      const std::string& account = event.open_account().account();
      return IsAccount(account) ? Result<Event>(OpenAccount{account}) : WrongAccount();
    }
    case wire::Event::kDeposit:
      return Checked({std::string(kOutside), event.deposit().account(), event.deposit().cents()},
                     true);
    case wire::Event::kTransfer:
      return Checked({event.transfer().payer(), event.transfer().payee(), event.transfer().cents()},
                     false);
    case wire::Event::kCloseDay: {
      const std::string& day = event.close_day().day();
      return IsDay(day) ? Result<Event>(CloseDay{day}) : Refusal("a day is written 2026-11-21");
    }
    case wire::Event::kStatement: {
      const std::string& account = event.statement().account();
      return IsAccount(account) ? Result<Event>(Statement{account}) : WrongAccount();
    }
    case wire::Event::KIND_NOT_SET:
      break;
  }
  return Refusal("an event of a kind that this program does not know");
}

std::string Encode(const Event& event) {
  wire::Event out;
  std::visit(Overloaded{[&](const OpenAccount& open) {
                          out.mutable_open_account()->set_account(open.account);
                        },
                        [&](const Move& move) {
                          if (move.payer == kOutside) {
                            out.mutable_deposit()->set_account(move.payee);
                            out.mutable_deposit()->set_cents(move.cents);
                            return;
                          }
                          out.mutable_transfer()->set_payer(move.payer);
                          out.mutable_transfer()->set_payee(move.payee);
                          out.mutable_transfer()->set_cents(move.cents);
                        },
                        [&](const CloseDay& close) { out.mutable_close_day()->set_day(close.day); },
                        [&](const Statement& statement) {
                          out.mutable_statement()->set_account(statement.account);
                        }},
             event);
  return out.SerializeAsString();
}

std::string KeyOf(const Event& event) {
  return std::visit(
      Overloaded{[](const OpenAccount& open) { return open.account; },
                 [](const Move& move) { return move.payer == kOutside ? move.payee : move.payer; },
                 [](const CloseDay& close) { return close.day; },
                 [](const Statement& statement) { return statement.account; }},
      event);
}

std::array<Posting, 2> PostingsOf(const Move& move) {
  return {Posting{move.payer, -move.cents}, Posting{move.payee, move.cents}};
}

SqlBooking BookingOf(const CloseDay& close, std::string_view closed_by) {
  // Waits for every run that has posted, and holds up the others: none of them posts to this day.
  return {.before = SqlStatement{"LOCK TABLE postings IN SHARE MODE"},
          .book = {oncemq::kClosingSql, {std::string_view(close.day), closed_by}},
          .rows = 0,
          .otherwise = {}};
}

SqlBooking BookingOf(const Event& event, std::string_view id, int64_t at_ms) {
  return std::visit(
      Overloaded{[](const OpenAccount& open) {
                   return SqlBooking{
                       .before = {},
                       .book = {"INSERT INTO accounts (name) VALUES (convert_from($1, 'UTF8')) "
                                "ON CONFLICT (name) DO NOTHING",
                                {std::string_view(open.account)}},
                       .rows = 0,
                       .otherwise = {}};
                 },
                 [&](const Move& move) { return BookMove(move, id, at_ms); },
                 [&](const CloseDay& close) { return BookingOf(close, id); },
                 [&](const Statement& statement) {
                   return SqlBooking{
                       .before = {},
                       .book = {oncemq::kStatementSql, {id, std::string_view(statement.account)}},
                       .rows = 1,
                       .otherwise = {}};
                 }},
      event);
}

}  // namespace ledger
