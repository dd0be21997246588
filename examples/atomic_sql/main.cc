// SPDX-License-Identifier: Apache-2.0
// The strongest level: each payment changes a balance in PostgreSQL once, though the statement
// itself would add it again. README.md has the commands.
//
//   atomic_sql -c examples/atomic_sql/service.yaml
#include <nlohmann/json.hpp>
#include <string>

#include "oncemq/dedup/sql_effects.h"
#include "oncemq/framework/run_service.h"
#include "oncemq/framework/service_postgres.h"

namespace {

bool IsPayment(const nlohmann::json& payment) {
  return payment.is_object() && payment.contains("account") && payment["account"].is_string() &&
         payment.contains("amount") && payment["amount"].is_string();
}

}  // namespace

// No id in the table: the statement and the marker of its message are one transaction.
constexpr char kBook[] =
    "INSERT INTO accounts (name, balance) VALUES ($1, $2) "
    "ON CONFLICT (name) DO UPDATE SET balance = accounts.balance + excluded.balance";

oncemq::Outcome OnPayment(const oncemq::Message& message, oncemq::Context& context) {
  const auto payment = nlohmann::json::parse(message.value().value_or(""), nullptr, false);
  if (!IsPayment(payment)) {
    return oncemq::Reject{R"(no payment: {"account": TEXT, "amount": "12.50"} is expected)"};
  }
  const std::string account = payment["account"];
  const std::string amount = payment["amount"];
  const auto booked =
      context.sql()->Run({kBook, {oncemq::SqlText{account}, oncemq::SqlText{amount}}});
  if (booked) {
    return oncemq::Done{};
  }
  // The amount is no number, or the CHECK of the table refuses it.
  if (booked.error().code == oncemq::Code::kInvalid) {
    return oncemq::Reject{booked.error().message};
  }
  return oncemq::Retry{.why = booked.error().message};
}

int main(int argc, char** argv) {
  return oncemq::RunService(argc, argv, OnPayment,
                            {.open_window = oncemq::OpenPostgresServiceWindow});
}
