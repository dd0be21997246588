// SPDX-License-Identifier: Apache-2.0
// What the group gives and takes. librdkafka waits, with heartbeats going on, until each assignment
// and each revocation has been answered by a call of ours; until then no other one comes.
#include <algorithm>
#include <utility>

#include "await_stops.h"
#include "broker_error.h"
#include "member.h"
#include "oncemq/base/log.h"
#include "oncemq/base/outage.h"
#include "wake_ring.h"

namespace oncemq {
namespace {

constexpr char kWindowQueried[] = "the window is being asked what it knows";
constexpr microseconds kUnknownFor{30'000'000};  // brokers learn of a new topic one by one

void LogNoStart(const PartitionName& name, const Error& error) {
  LogSeldom(LogLevel::kWarn, "kafka",
            "where a partition starts is not known yet: " + ToString(error),
            {{"topic", name.topic}, {"partition", name.partition}});
}

// Empty: there was no error.
Status TakenUnless(const char* error) {
  return error == nullptr ? Status()
                          : Error{Code::kUnavailable, Effect::kNone,
                                  std::string("the client has not taken its assignment: ") + error};
}

}  // namespace

std::vector<PartitionId> Member::Numbers(const rd_kafka_topic_partition_list_t& list) {
  std::vector<PartitionId> ids;
  for (int i = 0; i < list.cnt; i++) {
    ids.push_back(table_.Number(list.elems[i].topic, list.elems[i].partition));
  }
  return ids;
}

// librdkafka's mark of a loss goes with each assign and unassign call, also while the revocation
// that it is about lies in our queue unread. That one would be drained, and commit, as if we still
// owned its partitions; so the mark is kept here, until the revocation has been answered.
void Member::NoteLoss() {
  group_.lost = group_.lost || rd_kafka_assignment_lost(client_.get()) != 0;
}

void Member::OnAssign(const rd_kafka_topic_partition_list_t& list, SourceEvents& events) {
  group_.must_answer = true;
  // Of a loss before an assignment was answered, a group that is not cooperative says nothing but
  // the next assignment, which is wholly new.
  group_.lost = group_.lost && cooperative_;
  if (!cooperative_ && !group_.refusing) {  // at the end it is told what waited
    not_begun_.clear();
  }
  if (group_.refusing) {
    static_cast<void>(ApplyAssignment({}, true));  // Serve() repeats it
    return;
  }
  const TextPtr member(rd_kafka_memberid(client_.get()));
  Log(LogLevel::kInfo, "kafka", "assigned",
      {{"partitions", list.cnt}, {"member", member == nullptr ? "" : member.get()}});
  events.Joined();
  const std::vector<PartitionId> ids = Numbers(list);
  std::set<std::string> topics;
  for (const PartitionId id : ids) {
    unknown_since_.erase(id);
    topics.insert(table_.Name(id).topic);
  }
  missing_.Assigned(topics);
  unresolved_.insert(unresolved_.end(), ids.begin(), ids.end());
  Resolve(events);
}

std::vector<Result<Assignment>> Member::Query(std::span<const PartitionName> names) {
  const BootTime began = clock_.Boot();
  std::vector<Result<Assignment>> answers;
  if (!names.empty()) {
    answers = starts_.Query(names);
  }
  const BootTime ended = clock_.Boot();
  resolve_at_ = RetryAt(began, ended);
  return answers;
}

bool Member::MayAnswerLater(PartitionId id, const Error& error) {
  if (error.code != Code::kNotFound) {
    unknown_since_.erase(id);
    return MayPass(error);
  }
  const BootTime now = clock_.Boot();
  return now < unknown_since_.try_emplace(id, now).first->second + kUnknownFor;
}

// Finds out where the partitions start, and starts those whose answer is there. The others follow
// when the broker answers: one silent broker must not hold up the whole group.
void Member::Resolve(SourceEvents& events) {
  const std::vector<PartitionId> queried = std::exchange(unresolved_, {});
  std::vector<PartitionName> names;
  for (const PartitionId id : queried) {
    names.push_back(table_.Name(id));
  }
  const bool first = group_.must_answer;
  std::vector<Result<Assignment>> answers = Query(names);
  std::vector<PartitionId> fresh;
  for (size_t i = 0; i < queried.size(); i++) {
    const Holder holder = answers[i] ? Holder::kStore : Holder::kBroker;  // of a refusal
    if (answers[i]) {
      AssignFacts& facts = answers[i]->facts;
      facts.source = table_.Source(names[i].topic);
      facts.partition = names[i].partition;
      const auto ready = events.Prepare(queried[i], names[i], *answers[i]);
      if (!ready) {
        unresolved_.push_back(queried[i]);
        // The reason of the last refusal says more than that it is asked again.
        not_begun_.try_emplace(queried[i],
                               NotBegun{names[i], kWindowQueried, false, Holder::kStore});
        answers[i] = Error{};
        continue;
      }
      answers[i] = *ready ? std::move(answers[i]) : ready->error();
    }
    if (answers[i]) {
      not_begun_.erase(queried[i]);
      unknown_since_.erase(queried[i]);
      const AssignFacts& facts = answers[i]->facts;
      Start(queried[i], facts.read_from, facts.start);
      readers_[queried[i]].log_end = answers[i]->log.end;
      fresh.push_back(queried[i]);
    } else if (MayAnswerLater(queried[i], answers[i].error())) {
      unresolved_.push_back(queried[i]);
      NotBegun& waits = not_begun_[queried[i]];
      const bool logged = waits.why == answers[i].error().message;  // twice a second is too often
      waits = {names[i], answers[i].error().message, false, holder};
      if (!logged) {  // all partitions have the same reason, as a rule
        LogNoStart(names[i], answers[i].error());
      }
    } else {
      not_begun_[queried[i]] = {names[i], answers[i].error().message, true, holder};
      events.Incident(names[i], -1, answers[i].error().message);
    }
  }
  if (unresolved_.size() > 1) {
    // The next time another one is asked first: a silent one ends the asking.
    std::rotate(unresolved_.begin(), unresolved_.begin() + 1, unresolved_.end());
  }
  if (first || !fresh.empty()) {
    const Status taken = ApplyAssignment(fresh, first);
    for (size_t i = 0; i < queried.size() && !taken; i++) {
      if (answers[i]) {
        PutBack(queried[i], names[i], taken.error());
        answers[i] = taken.error();
      }
    }
  }
  for (size_t i = 0; i < queried.size(); i++) {
    if (!answers[i]) {
      continue;
    }
    if (!answers[i]->notice.empty()) {
      Log(LogLevel::kWarn, "kafka", answers[i]->notice,
          {{"topic", names[i].topic}, {"partition", names[i].partition}});
    }
    events.Assigned(queried[i], answers[i]->facts);
  }
}

// The client has not taken the partition, and would not read it from its start. It is asked again
// where it starts, and nothing of it is read before.
void Member::PutBack(PartitionId id, const PartitionName& name, const Error& error) {
  readers_.at(id).stopped = true;
  ListReadable();
  if (cooperative_) {
    group_.taken_out.insert(id);
  }
  unresolved_.push_back(id);
  not_begun_[id] = {name, error.message, false};
}

// What has no start yet will get none: it would be drained by nobody.
void Member::Refuse() {
  group_.refusing = true;
  unresolved_.clear();
  overtaken_.clear();
}

// Splits the partition's queue off, before librdkafka learns of the assignment: nothing may reach
// the common queue.
void Member::Start(PartitionId id, int64_t read_from, int64_t start) {
  const PartitionName& name = table_.Name(id);
  Reader& reader = readers_[id];
  reader.next = reader.begun = read_from;
  reader.start = start;
  reader.read_to = -1;
  reader.fetch = {};
  reader.stopped = false;
  reader.queue.reset(
      rd_kafka_queue_get_partition(client_.get(), name.topic.c_str(), name.partition));
  rd_kafka_queue_forward(reader.queue.get(), nullptr);
  rd_kafka_queue_io_event_enable(reader.queue.get(), wake_, &kWakeRing, sizeof kWakeRing);
}

// `first`: the group waits for the call, and goes on waiting where it fails. Later, a whole
// assignment is made anew, each partition from where it was read to.
Status Member::ApplyAssignment(std::span<const PartitionId> fresh, bool first) {
  NoteLoss();
  Status taken;
  if (cooperative_) {
    const ErrorPtr error(rd_kafka_incremental_assign(client_.get(), ListOf(fresh).get()));
    LogCall("the assignment was not taken", error.get());
    taken = TakenUnless(error == nullptr ? nullptr : rd_kafka_error_string(error.get()));
    if (taken) {
      for (const PartitionId id : fresh) {
        group_.taken_out.erase(id);
      }
    }
  } else {
    std::vector<PartitionId> all;
    for (const auto& [id, reader] : readers_) {
      if (!reader.stopped) {
        all.push_back(id);
      }
    }
    const auto code = rd_kafka_assign(client_.get(), ListOf(all).get());
    LogCall("the assignment was not taken", code);
    taken = TakenUnless(code == RD_KAFKA_RESP_ERR_NO_ERROR ? nullptr : rd_kafka_err2str(code));
  }
  AwaitStopped();
  group_.must_answer = group_.must_answer && !(first && taken);
  ListReadable();
  return taken;
}

void Member::OnRevoke(const rd_kafka_topic_partition_list_t& list, SourceEvents& events) {
  NoteLoss();
  const bool lost = group_.lost || group_.answered_early;
  Log(lost ? LogLevel::kWarn : LogLevel::kInfo, "kafka", lost ? "assignment lost" : "revoked",
      {{"partitions", list.cnt}});
  group_.revoking = true;
  group_.must_answer = false;  // of an assignment whose call has failed, the group asks no more
  commits_->InRevocation(true);
  group_.revoked.clear();
  group_.draining.clear();
  for (const PartitionId id : Numbers(list)) {
    std::erase(unresolved_, id);
    if (!group_.refusing) {  // at the end it is told what waited
      not_begun_.erase(id);
    }
    overtaken_.erase(id);
    anew_.erase(id);
    if (readers_.contains(id)) {
      group_.revoked.push_back(id);
      if (!lost) {
        group_.draining.insert(id);
      }
    }
  }
  const std::vector<PartitionId> ids = group_.revoked;
  if (lost) {
    for (const PartitionId id : ids) {
      events.Lost(id);
      Drop(id);
    }
  } else {
    for (const PartitionId id : ids) {
      events.Revoked(id);
    }
  }
  UnassignWhenDrained();
}

void Member::GiveBack(PartitionId id) {
  if (anew_.erase(id) > 0 && !group_.refusing) {
    commits_->Forget(id);
    unresolved_.push_back(id);
    not_begun_[id] = {table_.Name(id), "where it goes on in its log is not known yet", false};
    return;
  }
  Drop(id);
  group_.draining.erase(id);
  UnassignWhenDrained();
}

// A lost partition has no drain that waits for its commits (commits.h).
void Member::UnassignWhenDrained() {
  if (group_.revoking && group_.draining.empty() && !commits_->Awaits(group_.revoked)) {
    Unassign();
  }
}

void Member::Unassign() {
  group_.revoking = false;
  group_.lost = false;
  commits_->InRevocation(false);
  group_.draining.clear();
  if (cooperative_) {
    // One that it does not have makes librdkafka refuse the whole call.
    std::erase_if(group_.revoked,
                  [this](PartitionId id) { return group_.taken_out.erase(id) > 0; });
    const ErrorPtr error(
        rd_kafka_incremental_unassign(client_.get(), ListOf(group_.revoked).get()));
    LogCall("the revocation was not taken", error.get());
  } else {
    LogCall("the revocation was not taken", rd_kafka_assign(client_.get(), nullptr));
  }
  AwaitStopped();
  group_.revoked.clear();
}

// Once the group is being left no further call follows. And librdkafka's thread ends right behind
// the last one: it throws away what was asked meanwhile, and whoever asked waits for ever.
void Member::AwaitStopped() {
  if (close_queue_ == nullptr) {
    AwaitStops(client_.get());
  }
}

void Member::Drop(PartitionId id) {
  commits_->Forget(id);
  overtaken_.erase(id);
  anew_.erase(id);
  const auto found = readers_.find(id);
  if (found == readers_.end()) {
    return;
  }
  rd_kafka_queue_io_event_enable(found->second.queue.get(), -1, nullptr, 0);
  readers_.erase(found);
  ListReadable();
}

void Member::ListReadable() {
  readable_.clear();
  for (const auto& [id, reader] : readers_) {
    if (!reader.stopped) {
      readable_.push_back(id);
    }
  }
}

PartitionListPtr Member::ListOf(std::span<const PartitionId> ids) const {
  PartitionListPtr list(rd_kafka_topic_partition_list_new(static_cast<int>(ids.size())));
  for (const PartitionId id : ids) {
    const PartitionName& name = table_.Name(id);
    auto* entry = rd_kafka_topic_partition_list_add(list.get(), name.topic.c_str(), name.partition);
    const auto reader = readers_.find(id);
    if (reader != readers_.end()) {
      entry->offset = reader->second.next;
    }
  }
  return list;
}

}  // namespace oncemq
