// SPDX-License-Identifier: Apache-2.0
// Each payment of a topic becomes one row of a table in PostgreSQL, at the level guarded: over a
// connection of the handler's own. README.md has the commands.
//
//   guarded_sql -c examples/guarded_sql/service.yaml
#include <nlohmann/json.hpp>
#include <string>

#include "connection.h"
#include "oncemq/base/log.h"
#include "oncemq/framework/run_service.h"

namespace {

bool IsPayment(const nlohmann::json& payment) {
  return payment.is_object() && payment.contains("account") && payment["account"].is_string() &&
         payment.contains("cents") && payment["cents"].is_number_integer();
}

}  // namespace

// The id is the primary key: however often a payment comes, there is one row of it.
constexpr char kInsert[] =
    "INSERT INTO payments (id, account, cents) VALUES ($1, $2, $3::bigint) "
    "ON CONFLICT (id) DO NOTHING";

oncemq::Outcome OnPayment(const oncemq::Message& message, oncemq::Context& context) {
  const auto payment = nlohmann::json::parse(message.value().value_or(""), nullptr, false);
  if (!IsPayment(payment)) {
    return oncemq::Reject{R"(no payment: {"account": TEXT, "cents": INTEGER} is expected)"};
  }
  const std::string account = payment["account"];
  const std::string cents = payment["cents"].dump();
  // Workers call this at the same time, each with a connection of its own.
  thread_local Connection database;
  switch (database.Run(kInsert, {context.id(), account, cents})) {
    case Connection::Answer::kDone:  // also if the row was there before
      return oncemq::Done{};
    case Connection::Answer::kRefused:
      return oncemq::Reject{database.why()};
    case Connection::Answer::kUnknown:  // the row may be there; asked again, its id tells
      break;
  }
  oncemq::Log(oncemq::LogLevel::kWarn, "payments", "no answer", {{"why", database.why()}});
  return oncemq::Retry{};
}

int main(int argc, char** argv) {
  return oncemq::RunService(argc, argv, OnPayment);
}
