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
Ticket::Ticket(std::unique_ptr<Held> held) : held_(std::move(held)) {}
Ticket::Ticket(Ticket&&) noexcept = default;

Ticket& Ticket::operator=(Ticket&& other) noexcept {
  if (this != &other) {
    Drop();
    held_ = std::move(other.held_);
  }
  return *this;
}

Ticket::~Ticket() {
  Drop();
}

void Ticket::Drop() {
  if (held_ != nullptr) {
    held_->core->Dropped(*held_);
    held_.reset();
  }
}

std::string Ticket::ref() const {
  return held_ == nullptr ? std::string() : held_->ref;
}

bool Ticket::uncertain() const {
  return held_ != nullptr && held_->uncertain;
}

bool Ticket::unprotected() const {
  return held_ != nullptr && held_->unprotected;
}

Status Ticket::Final(std::string_view result) {
  return Say(true, result);
}

Status Ticket::FinalWithoutResult() {
  return Say(false, {});
}

Status Ticket::Say(bool with_result, std::string_view result) {
  if (held_ == nullptr) {
    return NoTicket();
  }
  const Status done = held_->core->Finish(*held_, with_result ? &result : nullptr);
  if (done || done.error().code == Code::kFenced) {
    held_.reset();
  }
  return done;
}

Status Ticket::Fail() {
  if (held_ == nullptr) {
    return NoTicket();
  }
  if (held_->finished) {
    return EffectHappened(held_->ref);
  }
  const Status freed = held_->core->Free(*held_, /*uncertain=*/false);
  held_.reset();
  return freed;
}

Status Ticket::Renew(milliseconds lease) const {
  if (held_ == nullptr) {
    return NoTicket();
  }
  if (held_->finished) {
    return EffectHappened(held_->ref);
  }
  return held_->core->Renew(*held_, lease);
}

Status Ticket::Unsure() {
  if (held_ == nullptr) {
    return NoTicket();
  }
  const Status freed = held_->finished ? Status() : held_->core->Free(*held_, /*uncertain=*/true);
  held_.reset();
  return freed;
}

}  // namespace oncemq
