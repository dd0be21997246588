// SPDX-License-Identifier: Apache-2.0
#include "sim_park.h"

#include <algorithm>

#include "surroundings.h"

namespace oncemq::sim {
namespace {

constexpr Micros kToolLooks = 50 * kMilli;
// Refusals of a redriven message after which a person gives it up.
constexpr uint32_t kPatience = 3;

}  // namespace

SimPark::SimPark(const Config& config, const Log& log, EventLoop& loop, History& history,
                 Sometimes& sometimes)
    : config_(config),
      log_(log),
      loop_(loop),
      history_(history),
      sometimes_(sometimes),
      rng_(static_cast<uint64_t>(config.seed), "park"),
      partitions_(log.partitions.size()) {}

void SimPark::Write(ActorId who, int32_t partition, std::vector<SimParkRecord> records,
                    std::function<void()> applied, Done done) {
  const auto draw = [&](int64_t rate) { return !healed_ && rng_.Chance(rate); };
  if (draw(config_.journal_refused)) {
    loop_.Plan(who, rng_.Between(1, kMilli), [done] {
      done(Error{Code::kUnavailable, Effect::kNone, "no broker answers"}, -1);
    });
    return;
  }
  const bool late = draw(config_.journal_late);
  const bool lost = late || draw(config_.journal_lost);
  if (lost && !late && records.size() > 1) {
    records.resize(static_cast<size_t>(rng_.Between(0, static_cast<int64_t>(records.size()))));
  }
  const auto answer = [this, who, done](Micros delay, const Status& status, int64_t last) {
    loop_.Plan(who, delay, [done, status, last] { done(status, last); });
  };
  const Error unknown{Code::kTimeout, Effect::kUnknown, "the park topic has not answered"};
  if (lost) {
    answer(config_.call_timeout, unknown, -1);
  }
  const Micros there =
      late ? rng_.Between(1, 4) * config_.call_timeout : rng_.Between(1, config_.latency);
  Micros& landing = landing_[{who, partition}];
  landing = std::max(landing, loop_.now() + there);
  loop_.Plan(kWorld, landing - loop_.now(),
             [this, who, partition, lost, answer, records = std::move(records),
              applied = std::move(applied)] {
               for (const SimParkRecord& record : records) {
                 Land(who, partition, record);
               }
               applied();
               if (!lost) {
                 const auto end = static_cast<int64_t>(
                     partitions_[static_cast<size_t>(partition)].records.size());
                 answer(rng_.Between(1, config_.latency), {}, end - 1);
               }
             });
}

void SimPark::Land(ActorId who, int32_t partition, SimParkRecord record) {
  Partition& its = partitions_[static_cast<size_t>(partition)];
  ParkRecord& written = record.record;
  const bool is_void = written.owner != 0 && written.owner < its.owner;
  its.owner = std::max(its.owner, written.owner);
  written.place = static_cast<int64_t>(its.records.size());
  its.book.Apply(written, record.key);
  sometimes_.Count(Situation::kFollowed, written.kind == ParkKind::kFollows);
  sometimes_.Count(Situation::kRefusedAgain, written.kind == ParkKind::kAgain);
  sometimes_.Count(Situation::kDropped, written.kind == ParkKind::kDropped);
  sometimes_.Count(Situation::kVoidRecord, is_void && IsEntry(written.kind));
  history_.Append({.time = loop_.now(),
                   .process = who,
                   .op = IsEntry(written.kind) ? Op::kJournal : Op::kParkRecord,
                   .phase = is_void ? Phase::kFail : Phase::kOk,
                   .partition = partition,
                   .offset = written.offset,
                   .delivery = record.delivery,
                   .id = record.delivery == kNone ? kNone : history_.delivery(record.delivery).id,
                   .owner_epoch = written.owner,
                   .value = static_cast<int64_t>(written.kind)});
  its.records.push_back(std::move(record));
  for (const auto& [follower, heard] : its.followers) {
    loop_.Plan(follower, rng_.Between(1, 2 * config_.latency),
               [heard = heard, end = its.records.size()] { heard(end); });
  }
}

void SimPark::Follow(ActorId who, int32_t partition, std::function<void(size_t end)> heard) {
  Partition& its = partitions_[static_cast<size_t>(partition)];
  its.followers.erase(who);
  loop_.Plan(who, rng_.Between(1, 2 * config_.latency),
             [heard, end = its.records.size()] { heard(end); });
  its.followers.emplace(who, std::move(heard));
}

void SimPark::StartTool() {
  loop_.Plan(kWorld, kToolLooks, [this] {
    Look();
    StartTool();
  });
}

void SimPark::Look() {
  const bool mended = healed_ || loop_.now() >= config_.mended_at;
  for (size_t p = 0; p < partitions_.size(); p++) {
    const auto partition = static_cast<int32_t>(p);
    Partition& its = partitions_[p];
    std::vector<std::pair<int64_t, bool>> commands;  // of a head; true: drop
    for (const auto& [name, chain] : its.book.chains()) {
      const int64_t head = chain.places.begin()->second;
      const uint32_t redrives = its.book.entries().at(head).redrives;
      uint32_t& refused = its.refused.try_emplace(head, redrives).first->second;
      refused = mended ? refused : redrives;
      const bool give_up = redrives >= refused + kPatience && NeverEnds(partition, head);
      if (chain.command >= 0 || !chain.drops.empty()) {
        if (!mended && rng_.Chance(5)) {
          return Command(partition, ParkKind::kCancel, -1, chain.run);
        }
      } else if (mended || rng_.Chance(10)) {
        commands.emplace_back(head, give_up);
      }
    }
    for (const auto& [offset, drop] : commands) {
      Command(partition, drop ? ParkKind::kDrop : ParkKind::kRedrive, offset,
              "run " + std::to_string(++run_));
    }
  }
}

void SimPark::Command(int32_t partition, ParkKind kind, int64_t offset, std::string run) {
  const ParkRecord record{.kind = kind, .offset = offset, .run = std::move(run)};
  Land(kWorld, partition, {record, std::nullopt, kNone});
}

// No mended handler helps it.
bool SimPark::NeverEnds(int32_t partition, int64_t offset) const {
  const PartitionLog& log = log_.partitions[static_cast<size_t>(partition)];
  const LogRecord& record = log.records[log.Find(offset)];
  const bool other_payload = std::ranges::any_of(log_.partitions, [&](const PartitionLog& one) {
    return std::ranges::any_of(one.records, [&](const LogRecord& other) {
      return other.id == record.id && other.payload != record.payload;
    });
  });
  const bool forgets = config_.remember < kForgetsNothing || config_.remember_for > 0;
  return IsMalformed(config_, record.id) || other_payload || forgets;
}

}  // namespace oncemq::sim
