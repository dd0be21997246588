// SPDX-License-Identifier: Apache-2.0
#include "commits.h"

#include <algorithm>
#include <utility>

#include "oncemq/base/log.h"

namespace oncemq {
namespace {

void* AsOpaque(uint64_t number) {
  return reinterpret_cast<void*>(number);
}

uint64_t NumberOf(rd_kafka_event_t* event) {
  return reinterpret_cast<uint64_t>(rd_kafka_event_opaque(event));
}

}  // namespace

Commits::Commits(rd_kafka_t* client, rd_kafka_queue_t* replies, CommittedReader& committed_reader,
                 bool cooperative, const PartitionTable& table)
    : client_(client),
      replies_(replies),
      committed_reader_(committed_reader),
      cooperative_(cooperative),
      table_(table) {}

void Commits::Send(std::span<const CommitAction> commits) {
  Batch batch(commits.begin(), commits.end());
  const uint64_t number = next_++;
  if (ReadCommitted(number, batch)) {
    reading_.emplace(number, std::move(batch));
  } else {
    Dispatch(number, batch);
    sent_.emplace(number, std::move(batch));
  }
}

void Commits::Forget(PartitionId partition) {
  acknowledged_.erase(partition);
  for (auto& [number, batch] : reading_) {
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
bool Commits::ReadCommitted(uint64_t number, const Batch& batch) {
  PartitionListPtr list(rd_kafka_topic_partition_list_new(static_cast<int>(batch.size())));
  for (const CommitAction& commit : batch) {
    if (acknowledged_.contains(commit.partition)) {
      const PartitionName& name = table_.Name(commit.partition);
      rd_kafka_topic_partition_list_add(list.get(), name.topic.c_str(), name.partition);
    }
  }
  if (list->cnt == 0) {
    return false;
  }
  committed_reader_.Query(number, std::move(list));
  return true;
}

std::vector<PartitionId> Commits::OnCommittedRead(const CommittedReader::Answer& answer,
                                                  SourceEvents& events) {
  if (answer.code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    Log(LogLevel::kInfo, "kafka", "the last commit could not be looked at",
        {{"code", rd_kafka_err2name(answer.code)}});
  }
  std::vector<PartitionId> vanished;
  for (const uint64_t number : answer.numbers) {
    OnCommittedRead(number, answer, vanished, events);
  }
  return vanished;
}

void Commits::OnCommittedRead(uint64_t number, const CommittedReader::Answer& answer,
                              std::vector<PartitionId>& vanished, SourceEvents& events) {
  const auto asked = reading_.find(number);
  if (asked == reading_.end()) {
    return;
  }
  Batch batch = std::move(asked->second);
  reading_.erase(asked);
  if (answer.code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Answer(batch, CommitReply::kUnknown, events);
  }
  Batch rest;
  for (CommitAction& commit : batch) {
    const PartitionName& name = table_.Name(commit.partition);
    const bool checked = acknowledged_.contains(commit.partition);
    const auto* const found = checked ? rd_kafka_topic_partition_list_find(
                                            answer.found.get(), name.topic.c_str(), name.partition)
                                      : nullptr;
    const auto code = found != nullptr ? found->err : RD_KAFKA_RESP_ERR_NO_ERROR;
    if (code == RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT) {
      // Somebody else's transaction names the partition, and hides our commit until it ends.
      events.CommitAnswered(commit.partition, commit.number, CommitReply::kUnknown);
    } else if (found != nullptr && code == RD_KAFKA_RESP_ERR_NO_ERROR && found->offset < 0) {
      events.Incident(name, commit.offset,
                      "the group's commit has vanished: the topic was deleted, or the group's "
                      "offsets were");
      events.CommitAnswered(commit.partition, commit.number, CommitReply::kRefused);
      vanished.push_back(commit.partition);
    } else {
      rest.push_back(std::move(commit));  // of other errors, its own answer tells
    }
  }
  if (!rest.empty()) {
    Dispatch(number, rest);
    sent_.emplace(number, std::move(rest));
  }
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
  const bool refused = std::any_of(batch.begin(), batch.end(), [&](const CommitAction& one) {
    return answers.Of(table_.Name(one.partition)) == RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS;
  });
  if (revoking_ && refused) {
    refusals_++;
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
