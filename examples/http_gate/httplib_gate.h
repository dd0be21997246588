// SPDX-License-Identifier: Apache-2.0
// Gated: an endpoint of cpp-httplib with a gate. A header to copy.
//
//   server.Post("/orders", Gated(gate, {.route = "POST /orders", .tenant = Customer}, PlaceOrder));
//
// Thread safety: as of the handler; cpp-httplib calls it on many threads.
#pragma once

#include <httplib.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "oncemq/gate/http_gate.h"

struct GatedEndpoint {
  std::string route;  // method and path pattern
  // Whose keys these are: of a caller that is authenticated by now. Empty: HttpGateOptions must say
  // that there is one tenant.
  std::function<std::string(const httplib::Request&)> tenant = {};
  // A copy has this alike; empty: target and body, byte by byte, and the parts of a form.
  std::function<oncemq::Contents(const httplib::Request&)> contents = {};
};

// The ticket says whether an earlier attempt may have had its effect. Returns HttpAnswer::effect:
// nothing, if the status of its response says it.
using GatedHandler = std::function<std::optional<oncemq::Effect>(
    const httplib::Request&, httplib::Response&, const oncemq::Ticket&)>;

// cpp-httplib puts the parts of multipart/form-data into `files`, by name, and leaves `body` empty.
// The boundary is not compared: each copy has another one.
inline oncemq::Contents WholeOf(const httplib::Request& request) {
  oncemq::Contents::Fields fields{{"target", request.target}, {"body", request.body}};
  int number = 0;
  for (const auto& [name, part] : request.files) {
    const std::string one = "part " + std::to_string(number++) + " ";
    fields[one + "name"] = name;
    fields[one + "filename"] = part.filename;
    fields[one + "content_type"] = part.content_type;
    fields[one + "content"] = part.content;
  }
  return oncemq::Contents::OfFields(fields);
}

inline oncemq::HttpCall CallOf(const httplib::Request& request, const GatedEndpoint& endpoint) {
  oncemq::HttpCall call;
  const auto [begin, end] = request.headers.equal_range("Idempotency-Key");
  for (auto header = begin; header != end; ++header) {
    call.keys.push_back(header->second);
  }
  call.tenant = endpoint.tenant ? endpoint.tenant(request) : "";
  call.route = endpoint.route;
  call.contents = endpoint.contents ? endpoint.contents(request) : WholeOf(request);
  return call;
}

inline oncemq::HttpAnswer AnswerOf(const httplib::Response& response,
                                   std::optional<oncemq::Effect> effect) {
  return {.status = response.status < 0 ? 200 : response.status,
          .headers = {response.headers.begin(), response.headers.end()},
          .body = response.body,
          .streamed = static_cast<bool>(response.content_provider_),
          .effect = effect};
}

inline httplib::Server::Handler Gated(std::shared_ptr<oncemq::HttpGate> gate,
                                      GatedEndpoint endpoint, GatedHandler handler) {
  return [gate = std::move(gate), endpoint = std::move(endpoint), handler = std::move(handler)](
             const httplib::Request& request, httplib::Response& response) {
    bool ran = false;
    const oncemq::HttpAnswer answer =
        gate->Handle(CallOf(request, endpoint), [&](const oncemq::Ticket& ticket) {
          ran = true;
          const std::optional<oncemq::Effect> effect = handler(request, response, ticket);
          return AnswerOf(response, effect);
        });
    if (ran) {
      return;  // it stands in `response`, a stream included
    }
    response.status = answer.status;
    for (const auto& [name, value] : answer.headers) {
      response.set_header(name.c_str(), value);
    }
    response.body = answer.body;
  };
}
