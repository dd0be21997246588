// SPDX-License-Identifier: Apache-2.0
#include "sim_broker.h"

#include <algorithm>
#include <utility>

namespace oncemq::sim {

SimBroker::SimBroker(const Config& config, const Log& log, EventLoop& loop, History& history)
    : config_(config),
      log_(log),
      loop_(loop),
      history_(history),
      rng_(static_cast<uint64_t>(config.seed), "broker"),
      owner_members_(log.partitions.size(), 0),
      owners_(log.partitions.size(), kWorld),
      terms_(log.partitions.size(), 0),
      committed_(log.partitions.size()),
      compacted_away_(log.partitions.size()) {
  for (const PartitionLog& partition : log.partitions) {
    starts_.push_back(partition.start);
  }
}

LogBounds SimBroker::Bounds(int32_t partition, Micros now) const {
  const int64_t start = LogStart(partition);
  const int64_t end = log_.partitions[Index(partition)].EndAt(now);
  return {start, std::max(start, end), config_.compacted != 0};
}

void SimBroker::Clean(int32_t partition, const LogRecord& record) {
  history_.Append({.time = loop_.now(),
                   .op = Op::kCleaned,
                   .partition = partition,
                   .offset = record.offset,
                   .id = record.id});
}

// An operator's commit says nothing of what was handled below it.
int64_t SimBroker::HandledTo(int32_t partition) const {
  const CommittedPosition committed = Committed(partition);
  return committed.metadata.empty() ? 0 : committed.offset.value_or(0);
}

bool SimBroker::Compact(int32_t partition) {
  const int64_t below = HandledTo(partition);
  const std::vector<LogRecord>& records = log_.partitions[Index(partition)].records;
  std::set<int32_t> later;
  bool any = false;
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    const bool last = record->appended <= loop_.now() && later.insert(record->key).second;
    if (!last && record->key != kNoKey && record->offset < below &&
        Has(partition, record->offset)) {
      compacted_away_[Index(partition)].insert(record->offset);
      Clean(partition, *record);
      any = true;
    }
  }
  return any;
}

bool SimBroker::Retain(int32_t partition, int64_t thousandths) {
  int64_t& start = starts_[Index(partition)];
  const int64_t to =
      start + std::max<int64_t>(HandledTo(partition) - start, 0) * thousandths / 1000;
  bool any = false;
  for (const LogRecord& record : log_.partitions[Index(partition)].records) {
    if (record.offset < to && Has(partition, record.offset)) {
      Clean(partition, record);
      any = true;
    }
  }
  start = std::max(start, to);
  return any;
}

void SimBroker::Touch(MemberId id) {
  members_[id].last_heard = loop_.now();
  loop_.Plan(kWorld, config_.session, [this, id] {
    const auto member = members_.find(id);
    const bool silent = member != members_.end() && !member->second.joined &&
                        loop_.now() - member->second.last_heard >= config_.session;
    if (silent) {
      Remove(id);
    }
  });
}

void SimBroker::Remove(MemberId id) {
  for (size_t p = 0; p < owner_members_.size(); p++) {
    if (owner_members_[p] == id) {
      SetOwner(static_cast<int32_t>(p), 0);
    }
  }
  members_.erase(id);
  if (members_.empty()) {
    preparing_ = false;
    round_++;
  } else {
    StartRebalance();
    CompleteSoon();
  }
}

void SimBroker::SetOwner(int32_t partition, MemberId member) {
  const size_t p = Index(partition);
  owner_members_[p] = member;
  owners_[p] = member == 0 ? kWorld : members_[member].process;
  terms_[p] += member == 0 ? 0 : 1;
  history_.Append({.time = loop_.now(),
                   .process = owners_[p],
                   .op = Op::kOwner,
                   .partition = partition,
                   .term = terms_[p],
                   .value = terms_[p]});
}

void SimBroker::Join(MemberId id, ActorId process, const std::vector<int32_t>& owned,
                     JoinAnswer answer) {
  if (id != 0 && !members_.contains(id)) {
    answer(Joined{});  // expired: whatever it still believes to own is not its own
    return;
  }
  if (id == 0) {
    id = next_member_++;
    members_[id].process = process;
  }
  for (size_t p = 0; p < owner_members_.size(); p++) {
    const auto partition = static_cast<int32_t>(p);
    if (owner_members_[p] == id &&
        std::find(owned.begin(), owned.end(), partition) == owned.end()) {
      SetOwner(partition, 0);
    }
  }
  Member& member = members_[id];
  member.joined = true;
  member.answer = std::move(answer);
  StartRebalance();
  CompleteSoon();
}

void SimBroker::Leave(MemberId member) {
  if (members_.contains(member)) {
    Remove(member);
  }
}

void SimBroker::StartRebalance() {
  if (preparing_) {
    return;
  }
  preparing_ = true;
  const uint64_t round = ++round_;
  loop_.Plan(kWorld, config_.rebalance_limit, [this, round] {
    if (!preparing_ || round != round_) {
      return;
    }
    std::vector<MemberId> missing;
    for (const auto& [id, member] : members_) {
      if (!member.joined) {
        missing.push_back(id);
      }
    }
    for (const MemberId id : missing) {
      Remove(id);
    }
  });
}

// A little later, so that members that come at the same time are in one generation.
void SimBroker::CompleteSoon() {
  loop_.Plan(kWorld, rng_.Between(kMilli, 4 * kMilli), [this] {
    const bool all = std::all_of(members_.begin(), members_.end(),
                                 [](const auto& entry) { return entry.second.joined; });
    if (preparing_ && all && !members_.empty()) {
      Complete();
    }
  });
}

MemberId SimBroker::OneOf(const std::vector<MemberId>& members) {
  return members[rng_.Below(members.size())];
}

// Whom the assignor wants to have each partition.
std::vector<MemberId> SimBroker::Target() {
  std::vector<MemberId> all;
  for (const auto& [id, member] : members_) {
    all.push_back(id);
  }
  std::vector<MemberId> target = owner_members_;
  if (config_.cooperative == 0) {
    const size_t turn = rng_.Below(all.size());
    for (size_t p = 0; p < target.size(); p++) {
      target[p] = all[(p + turn) % all.size()];
    }
    return target;
  }
  const size_t most = (target.size() + all.size() - 1) / all.size();
  std::map<MemberId, size_t> load;
  for (MemberId& member : target) {
    member = member != 0 && load[member] < most ? member : 0;
    load[member]++;
  }
  for (MemberId& member : target) {
    if (member == 0) {
      member = *std::min_element(all.begin(), all.end(),
                                 [&](MemberId a, MemberId b) { return load[a] < load[b]; });
      load[member]++;
    }
  }
  if (std::exchange(reshuffle_, false) && !target.empty()) {
    target[rng_.Below(target.size())] = OneOf(all);
  }
  return target;
}

void SimBroker::Complete() {
  preparing_ = false;
  generation_++;
  const std::vector<MemberId> target = Target();
  std::map<MemberId, Joined> answers;
  for (size_t p = 0; p < target.size(); p++) {
    // Under the cooperative protocol a partition moves only after its owner has given it up.
    const bool held = config_.cooperative != 0 && owner_members_[p] != 0;
    if (held && owner_members_[p] != target[p]) {
      continue;
    }
    if (!held) {
      SetOwner(static_cast<int32_t>(p), target[p]);
    }
    answers[target[p]].partitions.push_back(static_cast<int32_t>(p));
    answers[target[p]].terms.push_back(terms_[p]);
  }
  for (auto& [id, member] : members_) {
    Joined& joined = answers[id];
    joined.member = id;
    joined.generation = member.generation = generation_;
    member.joined = false;
    Touch(id);
    std::exchange(member.answer, nullptr)(joined);
  }
}

Beat SimBroker::Heartbeat(MemberId id, uint32_t generation) {
  const auto member = members_.find(id);
  if (member == members_.end() || member->second.generation != generation) {
    return Beat::kUnknownMember;
  }
  Touch(id);
  return preparing_ ? Beat::kRebalance : Beat::kFine;
}

bool SimBroker::Commit(const CommitCall& call) {
  const CommitFacts& commit = history_.commit(call.number);
  const auto member = members_.find(call.member);
  const bool accepted = member != members_.end() && call.generation == generation_ &&
                        member->second.generation == generation_;
  history_.Append({.time = loop_.now(),
                   .process = call.process,
                   .op = Op::kCommit,
                   .phase = accepted ? Phase::kOk : Phase::kFail,
                   .partition = call.partition,
                   .epoch = call.epoch,
                   .offset = commit.offset,
                   .owner_epoch = commit.metadata.owner_epoch,
                   .value = call.number});
  if (accepted) {
    Touch(call.member);
    committed_[Index(call.partition)] = {commit.offset, commit.text};
  }
  return accepted;
}

void SimBroker::Reshuffle() {
  if (!members_.empty()) {
    reshuffle_ = true;
    StartRebalance();
  }
}

void SimBroker::Reset(int32_t partition, int64_t offset, bool unknown_below) {
  committed_[Index(partition)] = {offset, ""};
  history_.Append({.time = loop_.now(),
                   .op = Op::kReset,
                   .flag = unknown_below,
                   .partition = partition,
                   .offset = offset});
}

void SimBroker::Expire(int32_t partition) {
  committed_[Index(partition)] = {};
  history_.Append({.time = loop_.now(), .op = Op::kReset, .partition = partition});
}

bool SimBroker::AllOwned() const {
  return std::all_of(owners_.begin(), owners_.end(), [](ActorId owner) { return owner != kWorld; });
}

}  // namespace oncemq::sim
