// SPDX-License-Identifier: Apache-2.0
#include "sim_replay.h"

#include <algorithm>
#include <utility>

namespace oncemq::sim {

SimReplay::SimReplay(ActorId actor, Surroundings& world, std::shared_ptr<SimWindow> window)
    : actor_(actor),
      world_(world),
      window_(std::move(window)),
      rng_(static_cast<uint64_t>(world.config.seed), "replay") {}

void SimReplay::Start() {
  for (size_t p = 0; p < world_.log.partitions.size(); p++) {
    for (const LogRecord& record : world_.log.partitions[p].records) {
      // What the handler refuses and what has no id is not worth a replay.
      const bool wanted = rng_.Chance(world_.config.replay) &&
                          !IsMalformed(world_.config, record.id) &&
                          ScriptOf(world_.config, record.id).end == Script::End::kDone;
      if (wanted) {
        left_.push_back({static_cast<int32_t>(p), &record});
      }
    }
  }
  std::stable_sort(left_.begin(), left_.end(), [](const Delivery& a, const Delivery& b) {
    return a.record->appended > b.record->appended;  // taken from the back
  });
  Next(1);
}

void SimReplay::Next(Micros delay) {
  busy_ = false;
  if (left_.empty()) {
    return;
  }
  const Micros there = left_.back().record->appended - world_.loop.now();
  world_.loop.Plan(actor_, std::max(delay, there), [this] {
    busy_ = true;
    at_ = left_.back();
    left_.pop_back();
    delivery_ =
        world_.history.AddDelivery({actor_, at_.partition, 0, at_.record->offset, at_.record->id,
                                    at_.record->key, at_.record->bytes, at_.record->payload});
    token_ = {actor_, token_.attempt + 1};
    Claim();
  });
}

Record SimReplay::RecordOf(Op op, Phase phase) const {
  return {.time = world_.loop.now(),
          .process = actor_,
          .op = op,
          .phase = phase,
          .partition = at_.partition,
          .offset = at_.record->offset,
          .delivery = delivery_,
          .id = at_.record->id,
          .token = token_};
}

void SimReplay::Claim() {
  world_.history.Append(RecordOf(Op::kClaim, Phase::kInvoke));
  const ClaimRequest request{world_.log.ids[at_.record->id],
                             token_,
                             {0, at_.partition, at_.record->offset},
                             0,
                             at_.record->payload + 1};
  window_->Claim(actor_, {&request, 1}, {},
                 [this](const Status& status, const std::vector<ClaimAnswer>& answers) {
                   OnClaimed(status, answers);
                 });
}

void SimReplay::OnClaimed(const Status& status, const std::vector<ClaimAnswer>& answers) {
  if (!status) {
    // The same token: it may hold the claim already.
    world_.loop.Plan(actor_, world_.config.store_retry, [this] { Claim(); });
    return;
  }
  const ClaimAnswer& answer = answers.front();
  if (answer.answer == ClaimVerdict::kGranted) {
    return Handle(answer.uncertain);
  }
  if (answer.answer == ClaimVerdict::kInFlight) {
    world_.sometimes.Count(Situation::kReplayWaited);
    world_.loop.Plan(actor_, std::max<Micros>(answer.wait.count(), world_.config.store_retry),
                     [this] { Claim(); });
    return;
  }
  Next(rng_.Between(1, 20 * kMilli));
}

void SimReplay::Handle(bool uncertain) {
  world_.sometimes.Count(Situation::kReplayRan);
  Record record = RecordOf(Op::kHandle, Phase::kInvoke);
  record.flag = uncertain;
  world_.history.Append(record);
  world_.loop.Plan(actor_, ScriptOf(world_.config, at_.record->id).time, [this] {
    world_.target.Effect(delivery_, 0);
    world_.history.Append(RecordOf(Op::kHandle, Phase::kOk));
    Complete();
  });
}

void SimReplay::Complete() {
  const CompleteRequest request{
      world_.log.ids[at_.record->id], token_, {0, at_.partition, at_.record->offset}, "r"};
  window_->Complete(actor_, {&request, 1}, {},
                    [this](const Status& status, const std::vector<MarkerChange>&) {
                      if (!status) {
                        world_.loop.Plan(actor_, world_.config.store_retry, [this] { Complete(); });
                        return;
                      }
                      // Refused: somebody has taken over, who knows that it is uncertain.
                      Next(rng_.Between(1, 20 * kMilli));
                    });
}

}  // namespace oncemq::sim
