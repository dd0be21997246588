// SPDX-License-Identifier: Apache-2.0
#include "split_queue_loop.h"

#include <time.h>

#include <map>
#include <stdexcept>
#include <vector>

#include "rdkafka_handle.h"

namespace oncemq::testing {
namespace {

double Seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

class Loop {
 public:
  explicit Loop(const SplitQueueLoopOptions& options)
      : options_(options),
        client_(MakeClient(RD_KAFKA_CONSUMER, {{"bootstrap.servers", options.bootstrap},
                                               {"group.id", options.group},
                                               {"auto.offset.reset", "earliest"},
                                               {"enable.auto.commit", "false"},
                                               {"enable.auto.offset.store", "false"},
                                               {"socket.nagle.disable", "true"},
                                               {"queued.min.messages", "1000000"},
                                               {"queued.max.messages.kbytes", "65536"},
                                               {"fetch.message.max.bytes", "2097152"},
                                               {"fetch.wait.max.ms", "100"}})),
        replies_(rd_kafka_queue_new(client_.get())),
        next_(static_cast<size_t>(options.partitions)) {
    PartitionsPtr all(rd_kafka_topic_partition_list_new(options.partitions));
    for (int32_t p = 0; p < options.partitions; p++) {
      rd_kafka_topic_partition_list_add(all.get(), options.topic.c_str(), p)->offset = 0;
      queues_.emplace_back(rd_kafka_queue_get_partition(client_.get(), options.topic.c_str(), p));
      rd_kafka_queue_forward(queues_.back().get(), nullptr);
    }
    Check(rd_kafka_assign(client_.get(), all.get()), "assign");
  }

  SplitQueueLoopResult Run() {
    std::vector<rd_kafka_message_t*> batch(1000);
    int64_t read = 0;
    double began = 0;
    double cpu = 0;
    double committed = 0;
    while (read < options_.messages) {
      int64_t round = 0;
      for (size_t p = 0; p < queues_.size(); p++) {
        const ssize_t count =
            rd_kafka_consume_batch_queue(queues_[p].get(), 0, batch.data(), batch.size());
        if (count > 0 && read == 0 && round == 0) {
          began = committed = Seconds(CLOCK_MONOTONIC);
          cpu = Seconds(CLOCK_PROCESS_CPUTIME_ID);
        }
        for (ssize_t i = 0; i < count; i++) {
          round += Take(batch[static_cast<size_t>(i)], p) ? 1 : 0;
        }
      }
      read += round;
      ServeReplies();
      const double now = Seconds(CLOCK_MONOTONIC);
      if (!waiting_ && read > 0 && now - committed > CommitSeconds()) {
        committed = now;
        Commit();
      }
      if (round == 0) {
        MessagePtr event(rd_kafka_consumer_poll(client_.get(), 1));
      }
    }
    result_.seconds = Seconds(CLOCK_MONOTONIC) - began;
    result_.process_seconds = Seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    return result_;
  }

 private:
  double CommitSeconds() const {
    return std::chrono::duration<double>(options_.commit_every).count();
  }

  bool Take(rd_kafka_message_t* message, size_t partition) {
    const MessagePtr owned(message);
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return false;
    }
    rd_kafka_headers_t* headers = nullptr;
    const void* value = nullptr;
    size_t size = 0;
    if (rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR &&
        rd_kafka_header_get_last(headers, "message-id", &value, &size) ==
            RD_KAFKA_RESP_ERR_NO_ERROR) {
      result_.header_bytes += static_cast<int64_t>(size);
    }
    next_[partition] = message->offset + 1;
    return true;
  }

  void Commit() {
    PartitionsPtr list(rd_kafka_topic_partition_list_new(options_.partitions));
    for (size_t p = 0; p < next_.size(); p++) {
      rd_kafka_topic_partition_list_add(list.get(), options_.topic.c_str(), static_cast<int32_t>(p))
          ->offset = next_[p];
    }
    Check(rd_kafka_commit_queue(client_.get(), list.get(), replies_.get(), nullptr, nullptr),
          "commit");
    waiting_ = true;
  }

  void ServeReplies() {
    if (waiting_) {
      if (const EventPtr event(rd_kafka_queue_poll(replies_.get(), 0)); event != nullptr) {
        waiting_ = false;
        result_.commits++;
      }
    }
  }

  const SplitQueueLoopOptions options_;
  ClientPtr client_;
  QueuePtr replies_;
  std::vector<QueuePtr> queues_;
  std::vector<int64_t> next_;
  bool waiting_ = false;
  SplitQueueLoopResult result_;
};

}  // namespace

SplitQueueLoopResult RunSplitQueueLoop(const SplitQueueLoopOptions& options) {
  return Loop(options).Run();
}

}  // namespace oncemq::testing
