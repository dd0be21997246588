// SPDX-License-Identifier: Apache-2.0
// An engine whose calls and answers are written down in a file that several processes share.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>

#include "lock_calls.h"
#include "support/forwarding_locks.h"

namespace oncemq::testing {

// Thread safety: as LockEngine.
class RecordingLocks final : public ForwardingLocks {
 public:
  RecordingLocks(std::shared_ptr<LockEngine> inner, const std::filesystem::path& file)
      : ForwardingLocks(std::move(inner)),
        file_(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {}
  ~RecordingLocks() override { close(file_); }

  Result<LockAnswer> Request(const AcquireRequest& request) override {
    Call call = Requested(LockCall::What::kRequest, request.name, request.token, request.lease,
                          request.mode, request.limit);
    const auto answer = ForwardingLocks::Request(request);
    using Kind = LockAnswer::Kind;
    if (answer && answer->kind == Kind::kGranted) {
      call.said.fence = answer->fence;
    }
    Answered(call, !answer                          ? AnswerOfError(answer.error())
                   : answer->kind == Kind::kGranted ? LockCall::Answer::kGranted
                   : answer->kind == Kind::kQueued  ? LockCall::Answer::kQueued
                                                    : LockCall::Answer::kNothing);
    return answer;
  }
  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    std::vector<Call> calls = RequestedAll(LockCall::What::kExtend, claims);
    const Status done = ForwardingLocks::Extend(claims, answers);
    for (size_t i = 0; i < claims.size(); i++) {
      Answered(calls[i], !done                            ? AnswerOfError(done.error())
                         : answers[i] == Extended::kGone  ? LockCall::Answer::kGone
                         : answers[i] == Extended::kLater ? LockCall::Answer::kNothing
                                                          : LockCall::Answer::kExtended);
    }
    return done;
  }
  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override {
    std::vector<Call> calls = RequestedAll(LockCall::What::kFree, claims);
    const Status done = ForwardingLocks::Free(claims, answers);
    for (size_t i = 0; i < claims.size(); i++) {
      Answered(calls[i], !done                       ? AnswerOfError(done.error())
                         : answers[i] == Freed::kYes ? LockCall::Answer::kFreed
                                                     : LockCall::Answer::kNotHeld);
    }
    return done;
  }

 private:
  struct Call {
    LockCall said;
    uint64_t number;
  };

  static int64_t Now() { return SystemClock::Instance().Boot().time_since_epoch().count(); }
  static LockCall::Answer AnswerOfError(const Error& error) {
    return error.effect == Effect::kNone ? LockCall::Answer::kNothing : LockCall::Answer::kOpen;
  }
  void Write(const std::string& line) const {
    static_cast<void>(!write(file_, line.data(), line.size()));
  }
  Call Requested(LockCall::What what, std::string_view name, const Token& token, milliseconds lease,
                 LockMode mode = LockMode::kExclusive, uint32_t limit = 0) {
    Call call{{.process = getpid(),
               .name = std::string(name),
               .token = token,
               .what = what,
               .mode = mode,
               .lease = microseconds(lease).count(),
               .requested_at = Now(),
               .limit = limit},
              ++numbers_};
    Write(RequestedLine(call.said, call.number));
    return call;
  }
  std::vector<Call> RequestedAll(LockCall::What what, std::span<const LockClaim> claims) {
    std::vector<Call> calls;
    for (const LockClaim& claim : claims) {
      calls.push_back(Requested(what, claim.name, claim.token, claim.lease));
    }
    return calls;
  }
  // What is open stays as it is in the file.
  void Answered(Call& call, LockCall::Answer answer) const {
    call.said.answered_at = Now();
    call.said.answer = answer;
    if (answer != LockCall::Answer::kOpen) {
      Write(AnsweredLine(call.said, call.number));
    }
  }

  const int file_;
  std::atomic<uint64_t> numbers_{0};
};

}  // namespace oncemq::testing
