// SPDX-License-Identifier: Apache-2.0
// SimWindow: the way to a window and back. A call may be refused, lost before or after it took
// effect, carried out in part, or carried out long after its caller gave up; then the caller hears
// what the contract says: an error that tells whether it may have taken effect. What the window
// really did is in the history.
//
// Thread safety: none.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "config.h"
#include "event_loop.h"
#include "history.h"
#include "oncemq/dedup/window.h"
#include "rng.h"
#include "sometimes.h"

namespace oncemq::sim {

class SimWindow : public std::enable_shared_from_this<SimWindow> {
 public:
  using IdNumbers = std::unordered_map<std::string, uint32_t>;

  // `remote`: calls travel and can fail; otherwise the window is in the caller's memory.
  SimWindow(const Config& config, EventLoop& loop, History& history, Sometimes& sometimes,
            const IdNumbers& ids, std::unique_ptr<Window> engine, bool remote);

  template <class Reply>
  using Done = std::function<void(const Status&, const std::vector<Reply>&)>;

  // `applied` runs at the window, after the call was carried out; `done` at the caller. The
  // requests are copied.
  void Claim(ActorId who, std::span<const ClaimRequest> requests, std::function<void()> applied,
             Done<ClaimAnswer> done);
  void Complete(ActorId who, std::span<const CompleteRequest> requests,
                std::function<void()> applied, Done<MarkerChange> done);
  void Release(ActorId who, std::span<const ReleaseRequest> requests, std::function<void()> applied,
               Done<MarkerChange> done);
  void Park(ActorId who, std::span<const ParkRequest> requests, std::function<void()> applied,
            Done<MarkerChange> done);
  void Restore(ActorId who, std::span<const RestoreRequest> requests, std::function<void()> applied,
               Done<MarkerChange> done);
  void Renew(ActorId who, std::span<const RenewRequest> requests, Done<MarkerChange> done);
  // Never late: the caller waits for its answer before any handler.
  void RecordUncertain(ActorId who, std::span<const UncertainCall> calls,
                       std::function<void()> applied, std::function<void(const Status&)> done);
  void RaiseOwnerEpoch(ActorId who, int32_t partition, OwnerEpoch floor,
                       std::function<void(const Result<OwnerEpoch>&)> done);

  // Level atomic: effects and markers together.
  void CompleteWith(ActorId who, std::shared_ptr<EffectBatch> effects,
                    std::span<const CompleteRequest> requests, std::function<void()> applied,
                    Done<MarkerChange> done);

  // The window itself, for what a process does without a way in between.
  Window& engine() { return *engine_; }
  // At once, for a window in the caller's memory. An error: nothing was changed.
  Status RestoreNow(ActorId who, std::span<const RestoreRequest> requests,
                    std::span<MarkerChange> answers);

  void DownUntil(Micros until) { down_until_ = until; }
  void Heal() { healed_ = true; }
  // Appends a kOpenClaim for every id that somebody still holds.
  void ReportOpenClaims();

 private:
  enum class Trouble : uint8_t { kFine, kRefused, kLost, kPartial, kLate };
  Trouble Draw();
  Micros OneWay() { return remote_ ? rng_.Between(1, config_.latency) : 1; }

  template <class Request, class Reply>
  struct Call;
  template <class Request, class Reply>
  using Method = std::function<Status(Window&, std::span<const Request>, std::span<Reply>)>;
  template <class Request, class Reply>
  void Send(ActorId who, std::span<const Request> requests, Op op,
            const Method<Request, Reply>& method, std::function<void()> applied, Done<Reply> done);
  template <class Request, class Reply>
  Status Apply(Call<Request, Reply>& call, size_t count);
  template <class Request, class Reply>
  void Note(const Call<Request, Reply>& call, const Request& request, const Reply& reply);
  uint32_t IdNumber(std::string_view id) const;

  const Config& config_;
  EventLoop& loop_;
  History& history_;
  Sometimes& sometimes_;
  const IdNumbers& ids_;
  const std::unique_ptr<Window> engine_;
  const bool remote_;
  Rng rng_;
  Micros down_until_ = 0;
  bool healed_ = false;
};

}  // namespace oncemq::sim
