// SPDX-License-Identifier: Apache-2.0
#include "storm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "ledger_rows.h"
#include "oncemq/base/hash.h"
#include "oncemq/dedup/memory_window.h"
#include "oncemq/framework/commit_metadata.h"
#include "scope.h"
#include "support/eventually.h"
#include "support/kafka_admin.h"
#include "support/kafka_broker.h"
#include "support/topic_reader.h"

namespace oncemq::testing {

using std::chrono::seconds;

void StormLog::Append(uint32_t id) {
  MutexLock lock(mutex_);
  ids_.push_back(id);
}

size_t StormLog::size() const {
  MutexLock lock(mutex_);
  return ids_.size();
}

void StormLog::ExpectOnceAndInOrder(const StormSize& size) const {
  MutexLock lock(mutex_);
  std::vector<uint8_t> times(size.ids);
  std::vector<int64_t> last(size.keys, -1);
  size_t twice = 0;
  size_t disorder = 0;
  for (const uint32_t id : ids_) {
    twice += times[id]++ > 0 ? 1 : 0;
    disorder += last[id % size.keys] >= id ? 1 : 0;
    last[id % size.keys] = id;
  }
  EXPECT_EQ(twice, 0U) << "ids were applied twice";
  EXPECT_EQ(disorder, 0U) << "effects were out of the order of their key";
  EXPECT_EQ(ids_.size() - twice, size.ids) << "ids are missing";
}

void ExpectLogInOrder(const std::string& bootstrap, const std::string& topic,
                      const StormSize& size) {
  StormLog first;
  std::vector<bool> seen(size.ids);
  for (const StoredMessage& message : ReadTopic(bootstrap, topic)) {
    const auto id = static_cast<uint32_t>(std::stoul(message.headers.front().second));
    if (!seen[id]) {
      first.Append(id);
      seen[id] = true;
    }
  }
  SCOPED_TRACE("in the log itself");
  first.ExpectOnceAndInOrder(size);
}

bool AllCommitted(const std::string& bootstrap, const std::string& group, const std::string& topic,
                  uint64_t messages) {
  return Eventually(seconds(60), [&] {
    int64_t committed = 0;
    for (const auto& [partition, commit] : KafkaAdmin(bootstrap).Committed(group, topic)) {
      committed += commit.offset;
    }
    return committed >= static_cast<int64_t>(messages);
  });
}

Totals ExpectCommitsAddUp(const std::string& bootstrap, const std::string& group,
                          const std::string& topic, uint64_t messages) {
  Totals sums;
  KafkaAdmin admin(bootstrap);
  for (const auto& [partition, commit] : admin.Committed(group, topic)) {
    const auto metadata = DecodeCommit(commit.metadata, commit.offset);
    if (!metadata) {
      ADD_FAILURE() << ToString(metadata.error());
      continue;
    }
    EXPECT_TRUE(metadata->clean);
    EXPECT_TRUE(metadata->map.empty());
    EXPECT_EQ(metadata->totals.sum(), commit.offset - metadata->since);
    EXPECT_EQ(commit.offset, admin.QueryWatermarks(topic, partition).high);
    sums += metadata->totals;
  }
  EXPECT_EQ(sums.sum(), static_cast<int64_t>(messages));
  return sums;
}

// One request at a time: a broker that has just come back refuses the first ones and takes those
// behind them, and then the log itself would be out of order.
StormProducer::StormProducer(const std::string& bootstrap, std::string topic, const StormSize& size)
    : producer_(bootstrap, {.properties = {{"max.in.flight.requests.per.connection", "1"}}}),
      topic_(std::move(topic)),
      size_(size) {}

void StormProducer::SendUpTo(uint32_t end) {
  for (; next_ < end; next_++) {
    Send(next_);
    if (next_ % 10 == 3) {
      Send(next_);
    }
    if (next_ >= size_.far && (next_ - size_.far) % 10 == 7) {
      Send(next_ - size_.far);
    }
  }
  producer_.Flush(seconds(60));
}

bool StormProducer::FeedUntil(uint32_t end, const std::function<bool()>& condition) {
  while (next_ < end && !Eventually(milliseconds(5), condition)) {
    SendUpTo(std::min(end, next_ + size_.feed));
  }
  return Eventually(seconds(60), condition);
}

void StormProducer::SendTheRest() {
  SendUpTo(size_.open_end ? std::max(next_, size_.far) : size_.ids);
  for (uint32_t id = next_ - size_.far; id < next_; id++) {
    if (id % 10 == 7) {
      Send(id);
    }
  }
  producer_.Flush(seconds(60));
}

void StormProducer::Send(uint32_t id) {
  char name[16];
  char key[16];
  const int name_size = std::snprintf(name, sizeof name, "%u", id);
  const int key_size = std::snprintf(key, sizeof key, "k%u", id % size_.keys);
  producer_.Send(
      {.topic = topic_,
       .key = std::string_view(key, static_cast<size_t>(key_size)),
       .value = "some payload of a few bytes",
       .headers = {{"message-id", std::string_view(name, static_cast<size_t>(name_size))}}});
  sent_++;
}

void ExpectLedger(const std::filesystem::path& dir, std::string_view kind, const std::string& group,
                  const std::string& topic, const StormSize& size) {
  const auto window = OpenTestWindow(kind, dir);
  const std::string owner = "cluster " + SharedKafka::Get().cluster_id() + ", " +
                            StoreOwner(QuickOptions("", group, topic));
  std::vector<std::unique_ptr<EffectBatch>> stores;
  for (int32_t partition = 0; partition < size.partitions; partition++) {
    const auto known = window->Open({0, partition, topic, owner});
    ASSERT_TRUE(known) << ToString(known.error());
    stores.push_back(*window->NewEffects(0, partition, {}));
  }
  const auto sum_of = [&](std::string_view row) {
    int64_t sum = 0;
    for (const auto& store : stores) {
      const auto value = store->rows()->Get(row);
      EXPECT_TRUE(value);
      sum += value && *value ? SumOf(**value).value_or(size.ids) : 0;
    }
    return sum;
  };
  for (uint32_t id = 0; id < size.ids; id++) {
    ASSERT_EQ(sum_of(LedgerRowOf(id)), 1) << "id " << id;
  }
  EXPECT_EQ(sum_of(kDisorderRow), 0);
}

Storm::Storm(const std::string& bootstrap, const std::string& name, const StormSize& size,
             StormWindow window)
    : size_(size), topic_(name), bootstrap_(bootstrap), kind_(window) {
  KafkaAdmin(bootstrap).CreateTopic({.name = name, .partitions = size.partitions});
  if (kind_ == StormWindow::kMemory) {
    MemoryWindowOptions options{.level = Level::kGuarded};
    options.remember = 2 * size.ids;
    windows_.push_back(*OpenMemoryWindow(options, SystemClock::Instance()));
  }
}

std::unique_ptr<RunningMember> Storm::Join(uint32_t workers) {
  RuntimeOptions options = QuickOptions(bootstrap_, topic_ + "-group", topic_);
  options.catch_up = 0;  // window or host is common, so nothing has to be told from the log
  if (kind_ == StormWindow::kDisk) {
    windows_.push_back(OpenTestWindow("guarded", dir_.path()));
  }
  options.workers = workers;
  return std::make_unique<RunningMember>(
      options, windows_.back().get(), [this, workers](const Message&, Context& context) -> Outcome {
        // Some work, so that members join and leave while there is a backlog; more where workers
        // do it, because what waits for them is what a rebalance has to hand back.
        for (int i = 0; i < (workers > 0 ? 6 : 1); i++) {
          work_.fetch_xor(StableHash(ballast_), std::memory_order_relaxed);
        }
        effects_.Append(static_cast<uint32_t>(std::stoul(std::string(context.id()))));
        return Done{};
      });
}

void Storm::Leave(std::unique_ptr<RunningMember>& member) {
  const RunReport& report = member->Stop();
  EXPECT_EQ(report.error, "");
  EXPECT_TRUE(report.clean);
  EXPECT_TRUE(report.counts.Balanced()) << "the verdict of a member";
  EXPECT_EQ(report.counts.open, 0);
  EXPECT_THAT(report.stops, ::testing::IsEmpty());
  handed_back_ += report.counts.handed_back;
  handled_ += report.counts.applied + report.counts.suppressed;
  member.reset();
}

bool Storm::Reached(size_t effects) {
  return Eventually(seconds(90), [&] { return effects_.size() >= effects; });
}

bool Storm::AllCommitted(uint64_t messages) {
  return testing::AllCommitted(bootstrap_, topic_ + "-group", topic_, messages);
}

void Storm::Judge(uint64_t messages) {
  effects_.ExpectOnceAndInOrder(size_);
  ExpectCommitsAddUp(bootstrap_, topic_ + "-group", topic_, messages);
  EXPECT_GE(handled_, static_cast<int64_t>(messages));
}

}  // namespace oncemq::testing
