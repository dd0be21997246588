// SPDX-License-Identifier: Apache-2.0
// Each order of a topic becomes a call to another service: once, or told. docs/tasks/call_once.md
// has the commands.
//
//   PARCELS=http://localhost:8080 call_once -c examples/call_once/service.yaml
#include <httplib.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "oncemq/framework/run_service.h"
#include "oncemq/framework/service_postgres.h"

namespace {

// Workers call at the same time, each over a connection of its own. The handler ends before
// `handler_timeout` of the service file, also when the other side is silent.
httplib::Client& Parcels() {
  thread_local const auto client = [] {
    auto made = std::make_unique<httplib::Client>(std::getenv("PARCELS"));
    made->set_connection_timeout(2);
    made->set_read_timeout(8);
    return made;
  }();
  return *client;
}

// An earlier call has arrived, and the service says so.
bool WasMade(const std::string& id) {
  const auto answer = Parcels().Get("/parcels/" + id);
  return answer && answer->status == 200;
}

}  // namespace

oncemq::Outcome OnOrder(const oncemq::Message& message, oncemq::Context& context) {
  const std::string id(context.id());
  if (context.uncertain() && WasMade(id)) {
    return oncemq::Done{};
  }
  httplib::Headers headers{{"Idempotency-Key", id}};
  if (const oncemq::TraceContext trace = context.trace(); trace) {
    headers.emplace("traceparent", trace.parent);
    headers.emplace("tracestate", trace.state);
  }
  const auto answer = Parcels().Post("/parcels", headers, std::string(message.value().value_or("")),
                                     "application/json");
  if (!answer) {  // without a connection nothing was sent; otherwise the call may have arrived
    return oncemq::Retry{.not_done = answer.error() == httplib::Error::Connection,
                         .why = httplib::to_string(answer.error())};
  }
  const std::string why = "status " + std::to_string(answer->status);
  if (answer->status < 300) {
    return oncemq::Done{};
  }
  if (answer->status == 429 || answer->status == 503) {
    return oncemq::Retry{.not_done = true, .why = why};
  }
  return answer->status < 500 ? oncemq::Outcome(oncemq::Reject{why}) : oncemq::Retry{.why = why};
}

int main(int argc, char** argv) {
  if (std::getenv("PARCELS") == nullptr) {
    std::cerr << "PARCELS is not set: http://HOST:PORT of the other service\n";
    return 2;
  }
  return oncemq::RunService(argc, argv, OnOrder,
                            {.open_window = oncemq::OpenPostgresServiceWindow});
}
