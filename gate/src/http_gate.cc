// SPDX-License-Identifier: Apache-2.0
#include "oncemq/gate/http_gate.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "oncemq/base/bytes.h"
#include "oncemq/base/log.h"
#include "parts.h"

namespace oncemq {
namespace {

bool SameName(std::string_view one, std::string_view other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  });
}

// Status, then headers by pairs, then the body: each header after its length.
std::string EncodeHttp(const HttpAnswer& answer, const std::vector<std::string>& kept) {
  HttpHeaders headers;
  for (const auto& header : answer.headers) {
    const bool wanted = std::any_of(kept.begin(), kept.end(), [&](const std::string& name) {
      return SameName(name, header.first);
    });
    if (wanted) {
      headers.push_back(header);
    }
  }
  std::string bytes;
  AppendVarint(bytes, static_cast<uint64_t>(answer.status));
  AppendVarint(bytes, headers.size());
  for (const auto& [name, value] : headers) {
    AppendPart(bytes, name);
    AppendPart(bytes, value);
  }
  return bytes + answer.body;
}

std::optional<std::string_view> TakePart(std::string_view& bytes) {
  ByteReader reader(bytes);
  const auto size = reader.Varint();
  if (!size || *size > reader.rest().size()) {
    return std::nullopt;
  }
  const std::string_view part = reader.rest().substr(0, *size);
  bytes = reader.rest().substr(*size);
  return part;
}

std::optional<HttpAnswer> DecodeHttp(std::string_view bytes) {
  ByteReader reader(bytes);
  const auto status = reader.Varint();
  const auto count = reader.Varint();
  if (!count || *status > 999 || *count > reader.rest().size()) {
    return std::nullopt;
  }
  HttpAnswer answer{.status = static_cast<int>(*status)};
  std::string_view rest = reader.rest();
  for (uint64_t i = 0; i < *count; i++) {
    const auto name = TakePart(rest);
    const auto value = name ? TakePart(rest) : std::nullopt;
    if (!value) {
      return std::nullopt;
    }
    answer.headers.emplace_back(*name, *value);
  }
  answer.body = rest;
  return answer;
}

// `detail` may have any bytes.
HttpAnswer Problem(int status, std::string_view title, std::string_view state, const PreAnswer& pre,
                   std::string_view detail = {}) {
  HttpAnswer answer{.status = status};
  answer.headers.emplace_back("Content-Type", "application/problem+json");
  nlohmann::ordered_json problem{{"type", "about:blank"}, {"title", title}};
  if (!detail.empty()) {
    problem["detail"] = detail;
  }
  problem["status"] = status;
  problem["state"] = state;
  problem["ref"] = pre.ref;
  problem["safe_new_key"] = pre.safe_new_key;
  if (pre.retry_after > milliseconds(0)) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(pre.retry_after).count();
    problem["retry_after"] = seconds;
    answer.headers.emplace_back("Retry-After", std::to_string(seconds));
  }
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  answer.body = problem.dump(/*indent=*/-1, ' ', /*ensure_ascii=*/false, kReplace);
  return answer;
}

HttpAnswer Replayed(const PreAnswer& pre) {
  auto stored = pre.has_result ? DecodeHttp(pre.result) : std::nullopt;
  if (!stored) {
    return Problem(410, "The request has been carried out; its answer is not available any more",
                   ToString(pre.state), pre);
  }
  stored->headers.emplace_back("Idempotent-Replayed", "true");
  return *std::move(stored);
}

HttpAnswer Refused(const PreAnswer& pre) {
  const std::string_view state = ToString(pre.state);
  switch (pre.state) {
    case PreState::kInProgress:
      return Problem(409, "The same request is being carried out", state, pre);
    case PreState::kUncertain:
      return Problem(409, "Nobody knows whether this request was carried out; ask with its ref",
                     state, pre);
    case PreState::kConflict:
      return pre.policy_changed
                 ? Problem(422, "The request was recorded by another version of this service",
                           "policy_changed", pre)
                 : Problem(422, "The Idempotency-Key was used for another request", state, pre);
    case PreState::kPermitted:
    case PreState::kDuplicate:
    case PreState::kError:
      break;
  }
  return Problem(503, "Requests cannot be protected now; this one was not carried out", state, pre);
}

// By its meaning such an answer comes before any effect: not implemented, unavailable, version of
// HTTP, login to the network.
bool RefusesAtOnce(int status) {
  return status == 501 || status == 503 || status == 505 || status == 511;
}

// The handler, or an upstream that it asked, may have failed after its effect, or waited in vain.
bool MayHaveHappened(const HttpAnswer& answer) {
  return answer.effect ? *answer.effect == Effect::kUnknown
                       : answer.status >= 500 && !RefusesAtOnce(answer.status);
}

// Timeout, conflict, locked, too early, too many requests.
bool PassesByItself(int status) {
  return status == 408 || status == 409 || status == 423 || status == 425 || status == 429;
}

// A handler that throws may have had its effect: as after an answer 500.
HttpAnswer AnswerOf(const HttpGate::Handler& handler, Ticket& ticket) {
  try {
    return handler(ticket);
  } catch (...) {
    if (const Status said = ticket.Unsure(); !said) {
      Log(LogLevel::kWarn, "gate", "the end of a handler that threw is not on record",
          {{"error", ToString(said.error())}});
    }
    throw;
  }
}

}  // namespace

bool HttpGate::IsFinal(const HttpAnswer& answer) const {
  const int status = answer.status;
  if (answer.effect) {
    return false;
  }
  switch (options_.stored) {
    case HttpGateOptions::Stored::kAll:
      return true;
    case HttpGateOptions::Stored::kSuccess:
      return status < 400;
    case HttpGateOptions::Stored::kPermanent:
      break;
  }
  return status < 500 && !PassesByItself(status);
}

HttpAnswer HttpGate::Run(Ticket ticket, const Handler& handler) {
  HttpAnswer answer = AnswerOf(handler, ticket);
  const std::string ref = ticket.ref();
  Status said;
  if (!IsFinal(answer)) {
    said = MayHaveHappened(answer) ? ticket.Unsure() : ticket.Fail();
  } else {
    said = answer.streamed ? ticket.FinalWithoutResult()
                           : ticket.Final(EncodeHttp(answer, options_.headers));
  }
  if (!said) {
    Log(LogLevel::kWarn, "gate", "an answer is not on record",
        {{"ref", ref}, {"error", ToString(said.error())}});
  }
  return answer;
}

HttpAnswer HttpGate::Handle(const HttpCall& call, const Handler& handler) {
  if (call.keys.empty() && !options_.required) {
    return handler(Ticket());
  }
  const auto key = IdempotencyKeyOf(call.keys);
  if (!key) {
    PreAnswer nothing;
    nothing.safe_new_key = true;
    return Problem(400,
                   call.keys.empty() ? "This request needs a header Idempotency-Key"
                                     : "The Idempotency-Key is not a valid one",
                   "invalid_key", nothing, key.error().message);
  }
  if (call.tenant.empty() && !options_.one_tenant) {
    PreAnswer nothing;
    nothing.safe_new_key = true;
    return Problem(401, "This request names nobody whose keys it uses", "no_tenant", nothing);
  }
  PreAnswer pre = gate_->Pre(call.contents, {.key = *key,
                                             .scope = {call.tenant, call.route},
                                             .wait = options_.wait,
                                             .earlier = call.earlier,
                                             .find_twins = options_.find_twins});
  if (!pre.twin.empty()) {
    Log(LogLevel::kWarn, "gate", "the same request came under another key",
        {{"ref", pre.ref}, {"twin", pre.twin}});
  }
  if (pre.state == PreState::kPermitted) {
    return Run(std::move(pre.ticket), handler);
  }
  return pre.state == PreState::kDuplicate ? Replayed(pre) : Refused(pre);
}

}  // namespace oncemq
