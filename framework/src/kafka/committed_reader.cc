// SPDX-License-Identifier: Apache-2.0
#include "committed_reader.h"

#include <unistd.h>

#include <utility>

#include "oncemq/base/log.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/start_thread.h"
#include "wake_ring.h"

namespace oncemq {

struct CommittedReader::Shared {
  Shared(rd_kafka_t* handle, int wake_fd, milliseconds time, Call query_call)
      : client(handle), wake(wake_fd), within(time), call(std::move(query_call)) {}

  void AddAnswer(Answer answer) REQUIRES(mutex) {
    answers.push_back(std::move(answer));
    if (wake >= 0) {
      // A full counter has rung already.
      [[maybe_unused]] const ssize_t written = write(wake, &kWakeRing, sizeof kWakeRing);
    }
  }

  rd_kafka_t* const client;
  const int wake;  // somebody else's, once it is ending
  const milliseconds within;
  const Call call;
  Mutex mutex;
  ConditionVariable changed;
  Answer waiting GUARDED_BY(mutex);  // asked, with no answer in it yet
  std::vector<Answer> answers GUARDED_BY(mutex);
  bool ending GUARDED_BY(mutex) = false;
  bool ended GUARDED_BY(mutex) = false;
  ClientPtr owned GUARDED_BY(mutex);  // `client`, where nobody else waits for the call
};

CommittedReader::CommittedReader(ClientPtr& client, int wake, milliseconds within, Call call)
    : client_(client),
      shared_(std::make_shared<Shared>(client.get(), wake, within, std::move(call))) {}

CommittedReader::~CommittedReader() {
  constexpr milliseconds kAtMost{1'000};
  Stop();
  if (!thread_) {
    return;
  }
  bool ended = false;
  {
    MutexLock lock(shared_->mutex);
    const auto over = [this]() REQUIRES(shared_->mutex) { return shared_->ended; };
    ended = shared_->changed.wait_for(shared_->mutex, kAtMost, over);
    if (!ended) {
      shared_->owned = std::move(client_);
    }
  }
  if (ended) {
    thread_->join();
    return;
  }
  Log(LogLevel::kInfo, "kafka", "a look at the group's commits does not end in time", {});
  thread_->detach();
}

void CommittedReader::Query(uint64_t number, PartitionListPtr partitions) {
  if (!thread_) {
    thread_ = StartThread("oncemq-look", [shared = shared_] { Work(*shared); });
  }
  MutexLock lock(shared_->mutex);
  if (!thread_) {
    shared_->AddAnswer({.numbers = {number}, .found = std::move(partitions)});
    return;
  }
  Answer& waiting = shared_->waiting;
  waiting.numbers.push_back(number);
  if (waiting.found == nullptr) {
    waiting.found = std::move(partitions);
  } else {
    rd_kafka_topic_partition_list_t* const all = waiting.found.get();
    for (int i = 0; i < partitions->cnt; i++) {
      const auto& [topic, partition] =
          std::pair(partitions->elems[i].topic, partitions->elems[i].partition);
      if (rd_kafka_topic_partition_list_find(all, topic, partition) == nullptr) {
        rd_kafka_topic_partition_list_add(all, topic, partition);
      }
    }
  }
  shared_->changed.notify_all();
}

std::vector<CommittedReader::Answer> CommittedReader::Take() {
  MutexLock lock(shared_->mutex);
  return std::exchange(shared_->answers, {});
}

void CommittedReader::Stop() {
  MutexLock lock(shared_->mutex);
  shared_->ending = true;
  shared_->changed.notify_all();
}

void CommittedReader::Work(Shared& shared) {
  for (;;) {
    Answer answer;
    {
      MutexLock lock(shared.mutex);
      shared.changed.wait(shared.mutex, [&]() REQUIRES(shared.mutex) {
        return shared.ending || !shared.waiting.numbers.empty();
      });
      if (shared.ending) {
        shared.ended = true;
        shared.changed.notify_all();
        return;
      }
      answer = std::exchange(shared.waiting, {});
    }
    answer.code = shared.call(shared.client, answer.found.get(), Millis(shared.within));
    MutexLock lock(shared.mutex);
    if (!shared.ending) {
      shared.AddAnswer(std::move(answer));
    }
  }
}

}  // namespace oncemq
