// SPDX-License-Identifier: Apache-2.0
#include "gate_core.h"

namespace oncemq {
namespace {

Error NoTicket() {
  return {Code::kInvalid, Effect::kNone, "the ticket was used, or never given"};
}

Error EffectHappened(const std::string& ref) {
  return {Code::kInvalid, Effect::kNone, ref + ": its effect has happened, by the word of Final()"};
}

}  // namespace

Ticket::Ticket() = default;
Ticket::Ticket(std::unique_ptr<Operation> held) : operation_(std::move(held)) {}
Ticket::Ticket(Ticket&&) noexcept = default;

Ticket& Ticket::operator=(Ticket&& other) noexcept {
  if (this != &other) {
    Drop();
    operation_ = std::move(other.operation_);
  }
  return *this;
}

Ticket::~Ticket() {
  Drop();
}

void Ticket::Drop() {
  if (operation_ != nullptr) {
    operation_->core->Dropped(*operation_);
    operation_.reset();
  }
}

std::string Ticket::ref() const {
  return operation_ == nullptr ? std::string() : operation_->ref;
}

bool Ticket::uncertain() const {
  return operation_ != nullptr && operation_->uncertain;
}

bool Ticket::unprotected() const {
  return operation_ != nullptr && operation_->unprotected;
}

Status Ticket::Final(std::string_view result) {
  return Say(true, result);
}

Status Ticket::FinalWithoutResult() {
  return Say(false, {});
}

Status Ticket::Say(bool with_result, std::string_view result) {
  if (operation_ == nullptr) {
    return NoTicket();
  }
  const Status done = operation_->core->Finish(*operation_, with_result ? &result : nullptr);
  if (done || done.error().code == Code::kFenced) {
    operation_.reset();
  }
  return done;
}

Status Ticket::Fail() {
  if (operation_ == nullptr) {
    return NoTicket();
  }
  if (operation_->finished) {
    return EffectHappened(operation_->ref);
  }
  const Status freed = operation_->core->Free(*operation_, /*uncertain=*/false);
  operation_.reset();
  return freed;
}

Status Ticket::Renew(milliseconds lease) const {
  if (operation_ == nullptr) {
    return NoTicket();
  }
  if (operation_->finished) {
    return EffectHappened(operation_->ref);
  }
  return operation_->core->Renew(*operation_, lease);
}

Status Ticket::Unsure() {
  if (operation_ == nullptr) {
    return NoTicket();
  }
  const Status freed =
      operation_->finished ? Status() : operation_->core->Free(*operation_, /*uncertain=*/true);
  operation_.reset();
  return freed;
}

}  // namespace oncemq
