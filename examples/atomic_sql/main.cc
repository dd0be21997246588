// SPDX-License-Identifier: Apache-2.0
// The strongest level: each payment changes a balance in PostgreSQL once, though the statement
// itself would add it again. README.md has the commands.
//
//   atomic_sql -c examples/atomic_sql/service.yaml
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "oncemq/dedup/sql_effects.h"
#include "oncemq/framework/run_service.h"
#include "oncemq/framework/service_postgres.h"

namespace {

struct Payment {
  std::string account;
  std::string amount;
};

std::optional<Payment> ParsePayment(const oncemq::Message& message) {
  const auto json = nlohmann::json::parse(message.value().value_or(""), nullptr, false);
  if (json.is_object() && json.contains("account") && json["account"].is_string() &&
      json.contains("amount") && json["amount"].is_string()) {
    return Payment{json["account"], json["amount"]};
  }
  return std::nullopt;
}

}  // namespace

// The table needs no id: the statement and the marker of its message are one transaction.
constexpr char kBook[] =
    "INSERT INTO accounts (name, balance) VALUES ($1, $2) "
    "ON CONFLICT (name) DO UPDATE SET balance = accounts.balance + excluded.balance";

oncemq::Outcome OnPayment(const oncemq::Message& message, oncemq::Context& context) {
  const std::optional<Payment> payment = ParsePayment(message);
  if (!payment) {
    return oncemq::Reject{R"(no payment: {"account": TEXT, "amount": "12.50"} is expected)"};
  }
  const auto booked = context.sql()->Run(
      {kBook, {oncemq::SqlText{payment->account}, oncemq::SqlText{payment->amount}}});
  if (booked) {
    return oncemq::Done{};
  }
  // kInvalid: the amount is no number, or the CHECK of the table refuses it.
  return booked.error().code == oncemq::Code::kInvalid
             ? oncemq::Outcome(oncemq::Reject{booked.error().message})
             : oncemq::Retry{.why = booked.error().message};
}

int main(int argc, char** argv) {
  return oncemq::RunService(argc, argv, OnPayment,
                            {.open_window = oncemq::OpenPostgresServiceWindow});
}
