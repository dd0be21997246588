// SPDX-License-Identifier: Apache-2.0
#include "shared_window_storm.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "oncemq/base/wait_until.h"

namespace oncemq::testing {

int SharedWindowStorm::Messages() {
  const char* asked = std::getenv("ONCEMQ_SQL_MESSAGES");
  return asked != nullptr ? std::atoi(asked) : 60'000;
}

void SharedWindowStorm::Begin(std::unique_ptr<StormStore> store) {
  store_ = std::move(store);
  CreateTopic(kPartitions);
  producer_ = std::make_unique<TestProducer>(bootstrap_);
}

void SharedWindowStorm::Produce(int begin, int end, Crossing crossing) {
  for (int id = begin; id < end; id++) {
    const int32_t partition = id % kStormKeys % kPartitions;
    SendId(id, partition);
    if (id % 10 == 7) {
      SendId(id, partition);
    } else if (CrossesPartitions(id) && crossing == Crossing::kNow) {
      SendId(id, ids_cross_ ? (partition + 1) % kPartitions : partition);
    }
  }
  producer_->Flush();
}

void SharedWindowStorm::ProduceCrossing(int begin, int end) {
  for (int id = begin; id < end; id++) {
    if (CrossesPartitions(id)) {
      SendId(id, (id % kStormKeys + 1) % kPartitions);
    }
  }
  producer_->Flush();
}

void SharedWindowStorm::SendId(int id, int32_t partition) {
  SendOne(*producer_, std::to_string(id), "k" + std::to_string(id % kStormKeys), "x", partition);
}

int SharedWindowStorm::Start() {
  const int number = static_cast<int>(members_.size());
  std::vector<std::string> command{ONCEMQ_SHARED_MEMBER, bootstrap_, group_, topic_};
  for (std::string& word : store_->MemberWords(number)) {
    command.push_back(std::move(word));
  }
  ProcessOptions options{.command = std::move(command), .log_file = LogOf(number)};
  if (!ids_cross_) {
    options.environment["ONCEMQ_OWNED_IDS"] = "1";
  }
  members_.push_back(std::make_unique<Process>(std::move(options)));
  return number;
}

std::string SharedWindowStorm::TextOf(int member) const {
  std::ifstream log(LogOf(member));
  return std::string(std::istreambuf_iterator<char>(log), {});
}

bool SharedWindowStorm::AnySaid(const std::string& words) const {
  bool said = false;
  for (size_t i = 0; i < members_.size(); i++) {
    said |= TextOf(static_cast<int>(i)).find(words) != std::string::npos;
  }
  return said;
}

bool SharedWindowStorm::Reached(int64_t effects) {
  return Eventually(seconds(240), [&] { return store_->Effects() >= effects; });
}

int64_t SharedWindowStorm::Committed() {
  int64_t sum = 0;
  for (const auto& [partition, commit] : admin_->Committed(group_, topic_)) {
    sum += std::max<int64_t>(commit.offset, 0);
  }
  return sum;
}

void SharedWindowStorm::SwallowReplies() {
  store_->proxy().Set(TcpProxy::Mode::kSwallowReplies);
  SleepFor(milliseconds(500));
  store_->proxy().Cut();
  store_->proxy().Set(TcpProxy::Mode::kPass);
}

void SharedWindowStorm::BlackHole() {
  store_->proxy().Set(TcpProxy::Mode::kSilent);
  SleepFor(seconds(5));
  store_->proxy().Cut();
  store_->proxy().Set(TcpProxy::Mode::kPass);
}

void SharedWindowStorm::Storm(int ids) {
  Produce(0, ids / 2);
  for (int i = 0; i < 4; i++) {
    Start();
  }
  ASSERT_TRUE(Reached(ids / 20)) << TextOf(0);
  member(0).Kill9();
  Start();
  ASSERT_TRUE(Reached(ids / 10));
  SwallowReplies();
  BlackHole();
  Produce(ids / 2, ids);
  ASSERT_TRUE(Reached(ids / 5));
  store_->Kill9();
  SleepFor(milliseconds(500));
  store_->Restart();
  ASSERT_TRUE(Reached(ids / 3)) << TextOf(2);
  store_->LoseAll();
  member(1).Pause();
  const BootTime session_ended =
      BootNow() + QuickOptions(bootstrap_, group_, topic_).core.session_timeout + seconds(1);
  ASSERT_TRUE(Reached(ids / 2)) << TextOf(2);
  member(2).Kill9();
  store_->Kill9();
  store_->Restart();
  WaitUntil(session_ended, BootNow(), {});
  member(1).Continue();
  Start();
  ASSERT_TRUE(Reached(5 * ids / 8)) << TextOf(3);
  store_->FailOver();
  End(ids);
}

void SharedWindowStorm::End(int ids) {
  const int last = static_cast<int>(members_.size()) - 1;
  ASSERT_TRUE(Reached(ids)) << TextOf(last);
  const int64_t sent = ids + Copies(ids);
  EXPECT_TRUE(Eventually(seconds(120), [&] { return Committed() == sent; })) << TextOf(last);
  for (int i = 0; i <= last; i++) {
    if (member(i).Running()) {
      EXPECT_EQ(member(i).Terminate(seconds(30)), 0) << TextOf(i);
    }
  }
  store_->Judge(ids);
}

}  // namespace oncemq::testing
