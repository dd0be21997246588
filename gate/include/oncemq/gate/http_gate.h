// SPDX-License-Identifier: Apache-2.0
// HttpGate: the gate in front of an endpoint, by the header Idempotency-Key (IETF draft
// "The Idempotency-Key HTTP Header Field"). Of no server: an adapter for cpp-httplib is in
// examples/http_gate.
//
//   HttpAnswer answer = http_gate.Handle({.keys = {"7f3c"}, .tenant = user, .route = "POST /order",
//                                         .contents = Contents::OfBytes(body)},
//                                        [&](const Ticket&) { return PlaceOrder(body); });
//
// Promise: the handler runs once for a key of a tenant and route; copies get its stored answer,
// marked `Idempotent-Replayed: true`. Everything else is a problem (application/problem+json, with
// state, ref, safe_new_key, and the seconds of Retry-After as retry_after):
//
//   400  the key is missing, or no key: `detail` says why
//   401  nobody is named as the tenant
//   409  in progress, with Retry-After; or uncertain, for an operator
//   410  finished, but its answer is not available: too large, streamed, or too old
//   422  the key was used for another request
//   503  the window did not answer, with Retry-After
//
// Limits: authenticate before it, since tenant, route and key are all that a stored answer asks
// for; throttle after it, in the handler, so that copies cost no quota. A streamed answer is never
// stored.
//
// Failure: if the answer cannot be put on record, it is given all the same: its effect has
// happened, and copies are told that it is in progress, later uncertain. After a handler that
// throws it is as after an answer 500; the exception goes on to the caller.
//
// Thread safety: any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "oncemq/gate/gate.h"

namespace oncemq {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpCall {
  // The values of all its headers Idempotency-Key.
  std::vector<std::string> keys;
  std::string tenant;
  std::string route;  // method and path pattern
  Contents contents;  // of the request; with all that a copy has to have alike
  std::vector<EarlierContents> earlier = {};
};

struct HttpAnswer {
  int status = 200;
  HttpHeaders headers = {};
  std::string body = {};
  bool streamed = false;  // the body is not here
  // The handler's own word on an answer that is not final: kNone, the next copy runs it; kUnknown,
  // it may have happened (Ticket::Unsure). Empty: the status says it (HttpGateOptions::stored).
  std::optional<Effect> effect = {};
};

struct HttpGateOptions {
  // Without a key: 400. False: the handler runs without protection, with an empty ticket.
  bool required = true;
  // Callers are not told apart, and share their keys: HttpCall::tenant may be empty.
  bool one_tenant = false;
  // Which answers are final, unless the handler says `effect`. After 500 and above, but 501, 503,
  // 505 and 511, it may have had its effect, as after Ticket::Unsure(); after any other one it has
  // not, and the next copy runs it.
  enum class Stored : uint8_t {
    kSuccess,    // 2xx and 3xx
    kPermanent,  // these and 4xx, but 408, 409, 423, 425 and 429
    kAll,
  };
  Stored stored = Stored::kPermanent;
  // The headers of an answer that are stored with it.
  std::vector<std::string> headers = {"Content-Type", "Content-Encoding", "Location"};
  milliseconds wait{0};     // as PreOptions
  bool find_twins = false;  // likewise; logged
};

// The key of a request: bare, or an sf-string in quotes; 1 to 255 characters of visible ASCII, and
// spaces in quotes. kInvalid says why not.
Result<std::string> IdempotencyKeyOf(const std::vector<std::string>& values);

class HttpGate {
 public:
  using Handler = std::function<HttpAnswer(const Ticket& ticket)>;

  explicit HttpGate(std::shared_ptr<Gate> gate, HttpGateOptions options = {})
      : gate_(std::move(gate)), options_(std::move(options)) {}

  HttpAnswer Handle(const HttpCall& call, const Handler& handler);

 private:
  bool IsFinal(const HttpAnswer& answer) const;
  HttpAnswer Run(Ticket ticket, const Handler& handler);

  const std::shared_ptr<Gate> gate_;
  const HttpGateOptions options_;
};

}  // namespace oncemq
