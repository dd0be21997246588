// SPDX-License-Identifier: Apache-2.0
#include "commits.h"

#include <algorithm>
#include <utility>

#include "oncemq/base/log.h"
#include "oncemq/base/mutant.h"

namespace oncemq {
namespace {

constexpr milliseconds kLookWithin{5'000};

using GroupOffsetsPtr = std::unique_ptr<rd_kafka_ListConsumerGroupOffsets_t,
                                        DestroyedBy<rd_kafka_ListConsumerGroupOffsets_destroy>>;
using AdminOptionsPtr =
    std::unique_ptr<rd_kafka_AdminOptions_t, DestroyedBy<rd_kafka_AdminOptions_destroy>>;

void* AsOpaque(uint64_t number) {
  return reinterpret_cast<void*>(number);
}

uint64_t NumberOf(rd_kafka_event_t* event) {
  return reinterpret_cast<uint64_t>(rd_kafka_event_opaque(event));
}

// The answer's list; nullptr with a reason where the broker gave none.
const rd_kafka_topic_partition_list_t* FoundOffsets(rd_kafka_event_t* event, std::string& why) {
  if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    why = rd_kafka_event_error_string(event);
    return nullptr;
  }
  size_t count = 0;
  const auto* const result = rd_kafka_event_ListConsumerGroupOffsets_result(event);
  const rd_kafka_group_result_t** const groups =
      rd_kafka_ListConsumerGroupOffsets_result_groups(result, &count);
  if (count != 1) {
    why = "no answer for the group";
    return nullptr;
  }
  if (const rd_kafka_error_t* error = rd_kafka_group_result_error(groups[0])) {
    why = rd_kafka_error_string(error);
    return nullptr;
  }
  return rd_kafka_group_result_partitions(groups[0]);
}

bool HasVanished(const rd_kafka_topic_partition_list_t& found, const PartitionName& name) {
  for (int i = 0; i < found.cnt; i++) {
    const rd_kafka_topic_partition_t& entry = found.elems[i];
    if (entry.partition == name.partition && name.topic == entry.topic) {
      return entry.err == RD_KAFKA_RESP_ERR_NO_ERROR && entry.offset < 0;
    }
  }
  return false;  // not asked for
}

}  // namespace

Commits::Commits(rd_kafka_t* client, rd_kafka_queue_t* replies, std::string group, bool cooperative,
                 const PartitionTable& table)
    : client_(client),
      replies_(replies),
      group_(std::move(group)),
      cooperative_(cooperative),
      table_(table) {}

void Commits::Send(std::span<const CommitAction> commits) {
  Batch batch(commits.begin(), commits.end());
  const uint64_t number = next_++;
  if (Look(number, batch)) {
    looking_.emplace(number, std::move(batch));
  } else {
    Dispatch(number, batch);
    sent_.emplace(number, std::move(batch));
  }
}

void Commits::Forget(PartitionId partition) {
  acknowledged_.erase(partition);
  if (ONCEMQ_MUTANT("look-outlives-assignment")) {
    return;
  }
  for (auto& [number, batch] : looking_) {
    std::erase_if(batch, [&](const CommitAction& one) { return one.partition == partition; });
  }
}

bool Commits::Awaits(std::span<const PartitionId> partitions) const {
  return std::any_of(sent_.begin(), sent_.end(), [&](const auto& request) {
    return std::any_of(request.second.begin(), request.second.end(), [&](const CommitAction& one) {
      return std::find(partitions.begin(), partitions.end(), one.partition) != partitions.end();
    });
  });
}

// False: there is nothing to look for.
bool Commits::Look(uint64_t number, const Batch& batch) {
  const PartitionListPtr list(rd_kafka_topic_partition_list_new(static_cast<int>(batch.size())));
  for (const CommitAction& commit : batch) {
    if (acknowledged_.contains(commit.partition)) {
      const PartitionName& name = table_.Name(commit.partition);
      rd_kafka_topic_partition_list_add(list.get(), name.topic.c_str(), name.partition);
    }
  }
  if (list->cnt == 0) {
    return false;
  }
  const GroupOffsetsPtr request(rd_kafka_ListConsumerGroupOffsets_new(group_.c_str(), list.get()));
  const AdminOptionsPtr options(
      rd_kafka_AdminOptions_new(client_, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS));
  char why[256];
  rd_kafka_AdminOptions_set_request_timeout(options.get(), Millis(kLookWithin), why, sizeof why);
  rd_kafka_AdminOptions_set_opaque(options.get(), AsOpaque(number));
  rd_kafka_ListConsumerGroupOffsets_t* requests[] = {request.get()};
  rd_kafka_ListConsumerGroupOffsets(client_, requests, 1, options.get(), replies_);
  return true;
}

std::vector<PartitionId> Commits::OnLooked(rd_kafka_event_t* event, SourceEvents& events) {
  std::vector<PartitionId> vanished;
  const uint64_t number = NumberOf(event);
  const auto found = looking_.find(number);
  if (found == looking_.end()) {
    return vanished;
  }
  Batch batch = std::move(found->second);
  looking_.erase(found);
  std::string why;
  const auto* const offsets = FoundOffsets(event, why);
  if (offsets == nullptr) {
    Log(LogLevel::kInfo, "kafka", "the last commit could not be looked at", {{"error", why}});
    Answer(batch, CommitReply::kUnknown, events);
    return vanished;
  }
  Batch rest;
  for (CommitAction& commit : batch) {
    const PartitionName& name = table_.Name(commit.partition);
    if (acknowledged_.contains(commit.partition) && HasVanished(*offsets, name)) {
      events.Incident(name, commit.offset,
                      "the group's commit has vanished: the topic was deleted, or the group's "
                      "offsets were");
      events.CommitAnswered(commit.partition, commit.number, CommitReply::kRefused);
      vanished.push_back(commit.partition);
    } else {
      rest.push_back(std::move(commit));
    }
  }
  if (!rest.empty()) {
    Dispatch(number, rest);
    sent_.emplace(number, std::move(rest));
  }
  return vanished;
}

void Commits::Dispatch(uint64_t number, const Batch& batch) {
  const PartitionListPtr list(rd_kafka_topic_partition_list_new(static_cast<int>(batch.size())));
  for (const CommitAction& commit : batch) {
    const PartitionName& name = table_.Name(commit.partition);
    auto* entry = rd_kafka_topic_partition_list_add(list.get(), name.topic.c_str(), name.partition);
    entry->offset = commit.offset;
    entry->metadata_size = commit.metadata.size();
    // librdkafka frees it with the list.
    entry->metadata = rd_kafka_mem_malloc(client_, commit.metadata.size() + 1);
    commit.metadata.copy(static_cast<char*>(entry->metadata), commit.metadata.size());
  }
  const auto code = rd_kafka_commit_queue(client_, list.get(), replies_, nullptr, AsOpaque(number));
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    Log(LogLevel::kWarn, "kafka", "a commit was not taken", {{"code", rd_kafka_err2name(code)}});
    failed_.push_back(number);
  }
}

void Commits::Serve(SourceEvents& events) {
  for (const uint64_t number : std::exchange(failed_, {})) {
    if (const auto found = sent_.find(number); found != sent_.end()) {
      const Batch batch = std::move(found->second);
      sent_.erase(found);
      Answer(batch, CommitReply::kUnknown, events);
    }
  }
}

void Commits::Answer(const Batch& batch, CommitReply reply, SourceEvents& events) {
  for (const CommitAction& commit : batch) {
    events.CommitAnswered(commit.partition, commit.number, reply);
  }
}

void Commits::OnCommitted(rd_kafka_event_t* event, SourceEvents& events) {
  const auto found = sent_.find(NumberOf(event));
  if (found == sent_.end()) {
    return;
  }
  const Batch batch = std::move(found->second);
  sent_.erase(found);
  const CommitAnswers answers(rd_kafka_event_error(event),
                              rd_kafka_event_topic_partition_list(event));
  CountRefusal(batch, answers);
  for (const CommitAction& commit : batch) {
    const PartitionName& name = table_.Name(commit.partition);
    const auto code = answers.Of(name);
    const CommitReply reply = Judge(code);
    if (reply == CommitReply::kAcknowledged) {
      acknowledged_.insert(commit.partition);
    } else {
      const bool refused = reply != CommitReply::kUnknown;
      Log(refused ? LogLevel::kWarn : LogLevel::kInfo, "kafka",
          refused ? "a commit was refused" : "a commit was not acknowledged",
          {{"topic", name.topic},
           {"partition", name.partition},
           {"code", rd_kafka_err2name(code)}});
    }
    events.CommitAnswered(commit.partition, commit.number, reply);
  }
}

void Commits::InRevocation(bool revoking) {
  revoking_ = revoking;
  refusals_ = 0;
}

// Once for an answer, however many partitions it names: one rebalance refuses them together.
void Commits::CountRefusal(const Batch& batch, const CommitAnswers& answers) {
  const auto refused = std::count_if(batch.begin(), batch.end(), [&](const CommitAction& one) {
    return answers.Of(table_.Name(one.partition)) == RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS;
  });
  if (revoking_ && refused > 0) {
    refusals_ += ONCEMQ_MUTANT("refusals-by-partition") ? static_cast<uint32_t>(refused) : 1;
  }
}

CommitReply Commits::Judge(rd_kafka_resp_err_t code) const {
  // While the group waits for us, a broker takes our commits. One that does not, as librdkafka's
  // mock cluster, will not later either; it has surely not stored them.
  constexpr uint32_t kPatience = 5;
  if (revoking_ && code == RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS && refusals_ > kPatience) {
    return CommitReply::kRefused;
  }
  return ReplyOf(code, cooperative_);
}

}  // namespace oncemq
