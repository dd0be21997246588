// SPDX-License-Identifier: Apache-2.0
// An endpoint under Idempotency-Key: each order is one row of a table, however often a client sends
// it, to any of several servers. docs/tasks/endpoint_once.md has the commands.
//
//   endpoint_once PORT postgres://user@host/database
#include <httplib.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "connection.h"
#include "httplib_gate.h"
#include "oncemq/dedup/postgres_window.h"
#include "oncemq/gate/http_gate.h"

// The ref names the operation: a second call after a crash meets the row of the first.
constexpr char kInsert[] =
    "INSERT INTO orders (ref, customer, item) VALUES ($1, $2, $3::jsonb) "
    "ON CONFLICT (ref) DO NOTHING";

// In a service: the user of the access token.
std::string Customer(const httplib::Request& request) {
  return request.get_header_value("X-Customer");
}

std::optional<oncemq::Effect> PlaceOrder(const httplib::Request& request,
                                         httplib::Response& response,
                                         const oncemq::Ticket& ticket) {
  thread_local Connection database;
  const std::string ref = ticket.ref();
  switch (database.Run(kInsert, {ref, Customer(request), request.body})) {
    case Connection::Answer::kDone:
      response.status = 201;
      response.set_content("ordered: " + ref + "\n", "text/plain");
      return {};
    case Connection::Answer::kRefused:  // a copy gets the same answer
      response.status = 400;
      response.set_content(database.why() + "\n", "text/plain");
      return {};
    case Connection::Answer::kUnknown:
      break;
  }
  response.status = 503;
  return oncemq::Effect::kUnknown;  // the next copy runs, and meets the row if it is there
}

oncemq::Result<std::shared_ptr<oncemq::HttpGate>> OpenGate(const std::string& at) {
  oncemq::PostgresWindowOptions at_server;
  at_server.scope = "orders";
  at_server.level = oncemq::Level::kGuarded;
  at_server.connect = at_server.call = oncemq::milliseconds(60);  // the gate answers within 200 ms
  at_server.max_connections = 32;
  auto window = oncemq::OpenPostgresWindow(at, at_server);
  if (!window) {
    return window.error();
  }
  oncemq::GateOptions options;
  options.application = "shop";
  options.lease = oncemq::milliseconds(30'000);  // longer than one call of the handler
  auto gate = oncemq::Gate::Open(*std::move(window), options);
  if (!gate) {
    return gate.error();
  }
  return std::make_shared<oncemq::HttpGate>(std::shared_ptr<oncemq::Gate>(*std::move(gate)));
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "endpoint_once PORT postgres://user@host/database\n";
    return 2;
  }
  const auto gate = OpenGate(argv[2]);
  if (!gate) {
    std::cerr << ToString(gate.error()) << "\n";
    return 2;
  }
  httplib::Server server;
  server.set_tcp_nodelay(true);
  server.new_task_queue = [] { return new httplib::ThreadPool(128); };
  server.Post("/orders", Gated(*gate, {.route = "POST /orders", .tenant = Customer}, PlaceOrder));
  return server.listen("127.0.0.1", std::atoi(argv[1])) ? 0 : 1;
}
