// SPDX-License-Identifier: Apache-2.0
// Orders over HTTP, each once however often the button is pressed.
//
//   http_gate PORT WINDOW ORDERS [RECEIPT_MS [expect_scope]]
//
// WINDOW is a directory (RocksDB, for one process), or postgres://user@host/database or
// redis://host for any number. An order becomes a line of the file ORDERS; then its receipt is
// printed, which takes RECEIPT_MS. Until the window's store answers, an order is answered 503. With
// the word expect_scope a server that has lost the window is an error, and no order is taken.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "httplib_gate.h"
#include "oncemq/base/outage.h"
#include "oncemq/dedup/local_window.h"
#include "oncemq/gate/gate_metrics.h"
#include "oncemq/gate/http_gate.h"
#include "timed_server.h"
#ifdef ONCEMQ_WITH_POSTGRES
#include "oncemq/dedup/postgres_window.h"
#endif
#ifdef ONCEMQ_WITH_REDIS
#include "oncemq/dedup/redis_window.h"
#endif

namespace {

using oncemq::Contents;

// A file knows no order ids, so nobody can check whether an order is there: level opaque.
oncemq::Result<std::unique_ptr<oncemq::Window>> OpenWindow(const std::string& at,
                                                           [[maybe_unused]] bool expect_scope) {
#ifdef ONCEMQ_WITH_POSTGRES
  if (at.starts_with("postgres")) {
    oncemq::PostgresWindowOptions options;
    options.scope = "http_gate";
    options.level = oncemq::Level::kOpaque;
    options.expect_scope = expect_scope;
    options.connect = options.call = oncemq::milliseconds(60);
    options.max_connections = 32;
    return oncemq::OpenPostgresWindow(at, options);
  }
#endif
#ifdef ONCEMQ_WITH_REDIS
  if (at.starts_with("redis")) {
    oncemq::RedisWindowOptions options;
    options.scope = "http_gate";
    options.level = oncemq::Level::kOpaque;
    options.expect_scope = expect_scope;
    options.connect = options.call = oncemq::milliseconds(60);
    options.max_connections = 32;
    return oncemq::OpenRedisWindow(at, options);
  }
#endif
  oncemq::LocalWindowOptions options;
  options.directory = at;
  options.identity = "http_gate";
  options.level = oncemq::Level::kOpaque;
  return oncemq::OpenLocalWindow(options, oncemq::SystemClock::Instance());
}

// In a service: the user of the access token.
std::string Customer(const httplib::Request& request) {
  return request.get_header_value("X-Customer");
}

// An order is flat, or nearly so. Anything else: null.
nlohmann::json Parsed(const std::string& body) {
  constexpr int kMaxDepth = 8;
  bool deep = false;
  auto order = nlohmann::json::parse(
      body,
      [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
        deep = deep || depth > kMaxDepth;
        return !deep;
      },
      /*allow_exceptions=*/false);
  return !deep && order.is_object() ? order : nlohmann::json();
}

bool IsInt64(const nlohmann::json& value) {
  return value.is_number_unsigned() ? value.get<uint64_t>() <= uint64_t{INT64_MAX}
                                    : value.is_number_integer();
}

// The order of fields and the spelling of numbers make no other order.
Contents OrderOf(const httplib::Request& request) {
  const nlohmann::json order = Parsed(request.body);
  if (order.is_null()) {
    return Contents::OfBytes(request.body);
  }
  Contents::Fields fields;
  for (const auto& [name, value] : order.items()) {
    if (value.is_number_float()) {
      fields[name] = value.get<double>();
    } else if (IsInt64(value)) {
      fields[name] = value.get<int64_t>();
    } else {
      fields[name] = value.dump();
    }
  }
  return Contents::OfFields(fields);
}

class Shop {
 public:
  Shop(const std::string& path, oncemq::milliseconds receipt)
      : orders_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)),
        receipt_(receipt) {}

  // Not told by the status.
  std::optional<oncemq::Effect> PlaceOrder(const httplib::Request& request,
                                           httplib::Response& response,
                                           const oncemq::Ticket& ticket) const {
    const nlohmann::json order = Parsed(request.body);
    if (!order.contains("item")) {
      response.status = 400;
      response.set_content("an order names its item\n", "text/plain");
      return {};
    }
    const std::string line =
        Customer(request) + " " + order["item"].dump() + " " + ticket.ref() + "\n";
    const ssize_t written = ::write(orders_, line.data(), line.size());
    if (written < static_cast<ssize_t>(line.size()) || ::fdatasync(orders_) != 0) {
      response.status = 503;
      // Once a byte is there, the next copy must not try.
      return written > 0 ? oncemq::Effect::kUnknown : oncemq::Effect::kNone;
    }
    oncemq::SleepFor(receipt_);  // the printer
    response.status = 201;
    response.set_header("Location", "/orders/" + ticket.ref());
    response.set_content("ordered: " + line, "text/plain");
    return {};
  }

 private:
  const int orders_;
  const oncemq::milliseconds receipt_;
};

oncemq::Result<std::shared_ptr<oncemq::Gate>> OpenGate(const std::string& at,
                                                       oncemq::milliseconds receipt,
                                                       bool expect_scope) {
  auto window = OpenWindow(at, expect_scope);
  if (!window) {
    return window.error();
  }
  oncemq::GateOptions options;
  options.application = "shop";
  options.lease = receipt + oncemq::milliseconds(2'000);
  auto gate = oncemq::Gate::Open(*std::move(window), options);
  if (!gate) {
    return gate.error();
  }
  return std::shared_ptr<oncemq::Gate>(*std::move(gate));
}

// An endpoint whose store may be away at the start: until it answers, clients are to ask again.
class LateEndpoint {
 public:
  using Open = std::function<oncemq::Result<httplib::Server::Handler>()>;

  explicit LateEndpoint(Open open) : open_(std::move(open)) {}

  // False: asking again does not help.
  bool TryOpen() {
    auto handler = open_();
    if (handler) {
      handler_ = *std::move(handler);
      is_open_ = true;
      return true;
    }
    std::string why = ToString(handler.error());
    if (why != said_) {
      said_ = std::move(why);
      std::cerr << said_ << "\n";
    }
    return MayPass(handler.error());
  }
  void Await(const std::stop_token& stop) {
    while (!is_open_ && !stop.stop_requested()) {
      oncemq::SleepFor(oncemq::milliseconds(500));
      if (!TryOpen()) {
        std::_Exit(2);
      }
    }
  }
  void Answer(const httplib::Request& request, httplib::Response& response) const {
    if (is_open_) {
      handler_(request, response);
    } else {
      response.status = 503;
      response.set_header("Retry-After", "1");
    }
  }

 private:
  const Open open_;
  std::string said_;
  httplib::Server::Handler handler_;
  std::atomic<bool> is_open_{false};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "http_gate PORT WINDOW ORDERS [RECEIPT_MS [expect_scope]]\n";
    return 2;
  }
  const std::string at = argv[2];
  const oncemq::milliseconds receipt(argc > 4 ? std::atoi(argv[4]) : 0);
  const bool expect_scope = argc > 5 && std::string(argv[5]) == "expect_scope";
  const Shop shop(argv[3], receipt);
  std::atomic<std::shared_ptr<oncemq::Gate>> open_gate;
  LateEndpoint orders([&]() -> oncemq::Result<httplib::Server::Handler> {
    const auto gate = OpenGate(at, receipt, expect_scope);
    if (!gate) {
      return gate.error();
    }
    open_gate = *gate;
    const auto http = std::make_shared<oncemq::HttpGate>(*gate, oncemq::HttpGateOptions{});
    return Gated(http, {.route = "POST /orders", .tenant = Customer, .contents = OrderOf},
                 [&shop](const httplib::Request& request, httplib::Response& response,
                         const oncemq::Ticket& ticket) {
                   return shop.PlaceOrder(request, response, ticket);
                 });
  });
  if (!orders.TryOpen()) {
    return 2;
  }
  const std::jthread opener([&](const std::stop_token& stop) { orders.Await(stop); });
  TimedServer server(std::chrono::seconds(5));
  // Head and body are written apart: without this the body waits 40 ms for an acknowledgement.
  server.set_tcp_nodelay(true);
  // A restart finds its port.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_payload_max_length(64 * 1024);
  // A connection that is kept alive holds a thread, busy or not: more threads than connections, or
  // requests wait for the keep-alive timeout of others.
  server.new_task_queue = [] { return new httplib::ThreadPool(128); };
  server.Post("/orders", [&orders](const httplib::Request& request, httplib::Response& response) {
    orders.Answer(request, response);
  });
  server.Get("/metrics", [&](const httplib::Request&, httplib::Response& response) {
    const std::shared_ptr<oncemq::Gate> gate = open_gate;
    oncemq::MetricsWriter writer;
    oncemq::WriteGateMetrics(gate ? gate->counts() : oncemq::GateCounts(), "orders", writer);
    response.set_content(writer.Text(), oncemq::MetricsWriter::kContentType);
  });
  return server.listen("127.0.0.1", std::atoi(argv[1])) ? 0 : 1;
}
