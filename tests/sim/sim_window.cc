// SPDX-License-Identifier: Apache-2.0
#include "sim_window.h"

#include <algorithm>
#include <deque>
#include <type_traits>
#include <utility>

namespace oncemq::sim {

// One call on its way: it owns the bytes that the requests point to, because its caller may be gone
// before it arrives.
template <class Request, class Reply>
struct SimWindow::Call {
  ActorId who;
  Op op;
  Method<Request, Reply> method;
  std::vector<Request> requests;
  std::deque<std::string> bytes;
  std::vector<Reply> replies;
  std::function<void()> applied;
  Done<Reply> done;
  bool late = false;

  void OwnerEpoch(std::span<const Request> from) {
    requests.assign(from.begin(), from.end());
    for (Request& request : requests) {
      request.id = bytes.emplace_back(request.id);
      if constexpr (requires { request.result; }) {
        request.result = bytes.emplace_back(request.result);
      }
    }
    replies.resize(requests.size());
  }
};

SimWindow::SimWindow(const Config& config, EventLoop& loop, History& history, Sometimes& sometimes,
                     const IdNumbers& ids, std::unique_ptr<Window> engine, bool remote)
    : config_(config),
      loop_(loop),
      history_(history),
      sometimes_(sometimes),
      ids_(ids),
      engine_(std::move(engine)),
      remote_(remote),
      rng_(static_cast<uint64_t>(config.seed), "window") {}

SimWindow::Trouble SimWindow::Draw() {
  if (!remote_ || healed_) {
    return Trouble::kFine;
  }
  if (loop_.now() < down_until_ || rng_.Chance(config_.window_refused)) {
    return Trouble::kRefused;
  }
  if (rng_.Chance(config_.window_lost)) {
    return Trouble::kLost;
  }
  if (rng_.Chance(config_.window_partial)) {
    return Trouble::kPartial;
  }
  return rng_.Chance(config_.window_late) ? Trouble::kLate : Trouble::kFine;
}

uint32_t SimWindow::IdNumber(std::string_view id) const {
  const auto found = ids_.find(std::string(id));
  return found == ids_.end() ? kNone : found->second;
}

template <class Request, class Reply>
void SimWindow::Note(const Call<Request, Reply>& call, const Request& request, const Reply& reply) {
  Record record{.time = loop_.now(),
                .process = call.who,
                .op = call.op,
                .phase = Phase::kOk,
                .id = IdNumber(request.id),
                .aux = call.late ? 1 : 0};
  if constexpr (requires { request.at; }) {
    record.partition = request.at.partition;
    record.offset = request.at.offset;
  }
  if constexpr (requires { request.token; }) {
    record.token = request.token;
  }
  if constexpr (requires { request.owner_epoch; }) {
    record.owner_epoch = request.owner_epoch;
  }
  if constexpr (std::is_same_v<Reply, ClaimAnswer>) {
    record.value = static_cast<int64_t>(reply.answer);
    record.flag = reply.uncertain;
    sometimes_.Saw(reply.answer);
    sometimes_.Count(Situation::kUncertainGrant, reply.uncertain);
    sometimes_.Count(Situation::kSecondAttempt,
                     reply.answer == ClaimVerdict::kGranted && reply.attempt > 1);
  } else {
    record.value = static_cast<int64_t>(reply);
    sometimes_.Count(Situation::kFencedCompletion,
                     call.op == Op::kComplete && reply == MarkerChange::kFenced);
    sometimes_.Count(Situation::kFencedRenewal,
                     call.op == Op::kRenew && reply == MarkerChange::kFenced);
  }
  history_.Append(record);
}

template <class Request, class Reply>
Status SimWindow::Apply(Call<Request, Reply>& call, size_t count) {
  const Status status = call.method(*engine_, std::span<const Request>(call.requests).first(count),
                                    std::span<Reply>(call.replies));
  if (status) {
    for (size_t i = 0; i < count; i++) {
      Note(call, call.requests[i], call.replies[i]);
    }
  }
  return status;
}

template <class Request, class Reply>
void SimWindow::Send(ActorId who, std::span<const Request> requests, Op op,
                     const Method<Request, Reply>& method, std::function<void()> applied,
                     Done<Reply> done) {
  auto call = std::make_shared<Call<Request, Reply>>();
  *call = {who, op, method, {}, {}, {}, std::move(applied), std::move(done), false};
  call->OwnerEpoch(requests);
  const Trouble trouble = Draw();
  const auto answer = [this, self = shared_from_this(), call](Micros delay, const Status& status) {
    loop_.Plan(call->who, delay, [call, status] { call->done(status, call->replies); });
  };
  if (trouble == Trouble::kRefused) {
    answer(OneWay(), Error{Code::kUnavailable, Effect::kNone, "down"});
    return;
  }
  const Error unknown{Code::kTimeout, Effect::kUnknown, "no reply"};
  Micros there = OneWay();
  if (trouble == Trouble::kLate) {
    call->late = true;
    answer(config_.call_timeout, unknown);
    there = config_.call_timeout + rng_.Between(0, 4 * config_.call_timeout);
    sometimes_.Count(Situation::kLateCall);
  }
  loop_.Plan(kWorld, there, [this, self = shared_from_this(), call, trouble, answer, unknown] {
    const size_t all = call->requests.size();
    const bool partial = trouble == Trouble::kPartial;
    const Status status = Apply(*call, partial ? rng_.Below(all + 1) : all);
    if (call->applied && trouble != Trouble::kLate) {
      call->applied();
    }
    if (trouble == Trouble::kLost || partial) {
      answer(config_.call_timeout, unknown);
      sometimes_.Count(Situation::kReplyLost);
    } else if (trouble == Trouble::kFine) {
      answer(OneWay(), status);
    }
  });
}

void SimWindow::Claim(ActorId who, std::span<const ClaimRequest> requests,
                      std::function<void()> applied, Done<ClaimAnswer> done) {
  Send<ClaimRequest, ClaimAnswer>(who, requests, Op::kClaim, &Window::Claim, std::move(applied),
                                  std::move(done));
}
void SimWindow::Complete(ActorId who, std::span<const CompleteRequest> requests,
                         std::function<void()> applied, Done<MarkerChange> done) {
  Send<CompleteRequest, MarkerChange>(who, requests, Op::kComplete, &Window::Complete,
                                      std::move(applied), std::move(done));
}
void SimWindow::Release(ActorId who, std::span<const ReleaseRequest> requests,
                        std::function<void()> applied, Done<MarkerChange> done) {
  Send<ReleaseRequest, MarkerChange>(who, requests, Op::kRelease, &Window::Release,
                                     std::move(applied), std::move(done));
}
void SimWindow::Park(ActorId who, std::span<const ParkRequest> requests,
                     std::function<void()> applied, Done<MarkerChange> done) {
  Send<ParkRequest, MarkerChange>(who, requests, Op::kPark, &Window::Park, std::move(applied),
                                  std::move(done));
}
void SimWindow::Restore(ActorId who, std::span<const RestoreRequest> requests,
                        std::function<void()> applied, Done<MarkerChange> done) {
  Send<RestoreRequest, MarkerChange>(who, requests, Op::kRestore, &Window::Restore,
                                     std::move(applied), std::move(done));
}
Status SimWindow::RestoreNow(ActorId who, std::span<const RestoreRequest> requests,
                             std::span<MarkerChange> answers) {
  if (!healed_ && rng_.Chance(config_.window_refused)) {
    sometimes_.Count(Situation::kCatchUpRepeated);
    return Error{Code::kUnavailable, Effect::kNone, "busy"};
  }
  Call<RestoreRequest, MarkerChange> call{who, Op::kRestore, &Window::Restore, {}, {}, {}, {},
                                          {},  false};
  call.OwnerEpoch(requests);
  const Status status = Apply(call, requests.size());
  std::copy(call.replies.begin(), call.replies.end(), answers.begin());
  return status;
}

void SimWindow::CompleteWith(ActorId who, std::shared_ptr<EffectBatch> effects,
                             std::span<const CompleteRequest> requests,
                             std::function<void()> applied, Done<MarkerChange> done) {
  Send<CompleteRequest, MarkerChange>(
      who, requests, Op::kComplete,
      [effects = std::move(effects)](Window& window, std::span<const CompleteRequest> all,
                                     std::span<MarkerChange> replies) {
        return window.CompleteWith(*effects, all, replies);
      },
      std::move(applied), std::move(done));
}

void SimWindow::Renew(ActorId who, std::span<const RenewRequest> requests,
                      Done<MarkerChange> done) {
  Send<RenewRequest, MarkerChange>(who, requests, Op::kRenew, &Window::Renew, {}, std::move(done));
}

void SimWindow::RecordUncertain(ActorId who, std::span<const UncertainCall> calls,
                                std::function<void()> applied,
                                std::function<void(const Status&)> done) {
  const bool answers = Draw() == Trouble::kFine;
  const Status status = answers ? engine_->RecordUncertain(calls)
                                : Error{Code::kTimeout, Effect::kUnknown, "no reply"};
  sometimes_.Count(Situation::kReplyLost, !answers);
  loop_.Plan(kWorld, OneWay(), std::move(applied));
  loop_.Plan(who, answers ? 2 * OneWay() : config_.call_timeout,
             [done = std::move(done), status] { done(status); });
}

void SimWindow::RaiseOwnerEpoch(ActorId who, int32_t partition, OwnerEpoch floor,
                                std::function<void(const Result<OwnerEpoch>&)> done) {
  const bool comes_late = remote_ && !healed_ && rng_.Chance(config_.raise_late);
  const Trouble trouble = comes_late ? Trouble::kLate : Draw();
  const auto answer = [this, self = shared_from_this(), who, done](
                          Micros delay, const Result<OwnerEpoch>& owner_epoch) {
    loop_.Plan(who, delay, [done, owner_epoch] { done(owner_epoch); });
  };
  if (trouble == Trouble::kRefused) {
    answer(OneWay(), Error{Code::kUnavailable, Effect::kNone, "down"});
    return;
  }
  const Error unknown{Code::kTimeout, Effect::kUnknown, "no reply"};
  const bool late = trouble == Trouble::kLate;
  if (late) {
    answer(config_.call_timeout, unknown);
  }
  const Micros there = late ? rng_.Between(1, 6) * config_.call_timeout : OneWay();
  loop_.Plan(kWorld, there,
             [this, self = shared_from_this(), who, partition, floor, trouble, answer, unknown] {
               const Result<OwnerEpoch> owner_epoch = engine_->RaiseOwnerEpoch(0, partition, floor);
               if (owner_epoch) {
                 history_.Append({.time = loop_.now(),
                                  .process = who,
                                  .op = Op::kRaise,
                                  .phase = Phase::kOk,
                                  .partition = partition,
                                  .owner_epoch = *owner_epoch,
                                  .aux = trouble == Trouble::kLate ? 1 : 0});
               }
               if (trouble == Trouble::kLost || trouble == Trouble::kPartial) {
                 answer(config_.call_timeout, unknown);
               } else if (trouble == Trouble::kFine) {
                 answer(OneWay(), owner_epoch);
               }
             });
}

void SimWindow::ReportOpenClaims() {
  for (const auto& [id, number] : ids_) {
    const std::string_view ids[] = {id};
    MarkerView views[1];
    const Status status = engine_->Peek(ids, views);
    if (status && views[0].state == MarkerState::kOpen) {
      history_.Append({.time = loop_.now(),
                       .process = kWorld,
                       .op = Op::kOpenClaim,
                       .partition = views[0].at.partition,
                       .offset = views[0].at.offset,
                       .id = number,
                       .token = views[0].token});
    }
  }
}

}  // namespace oncemq::sim
