// SPDX-License-Identifier: Apache-2.0
#include "running_member.h"

#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace oncemq::testing {
namespace {

KafkaOptions::Assignor ChosenAssignor() {
  const char* name = std::getenv("ONCEMQ_TEST_ASSIGNOR");
  return name != nullptr && std::string_view(name) == "cooperative-sticky"
             ? KafkaOptions::Assignor::kCooperativeSticky
             : KafkaOptions::Assignor::kRange;
}

}  // namespace

RuntimeOptions QuickOptions(const std::string& brokers, const std::string& group,
                            const std::string& topic) {
  RuntimeOptions options;
  options.kafka.brokers = brokers;
  options.kafka.group = group;
  options.kafka.topics = {topic};
  options.kafka.assignor = ChosenAssignor();
  options.core.session_timeout = std::chrono::seconds(6);
  options.core.session_margin = std::chrono::seconds(1);
  options.core.commit_interval = milliseconds(100);
  options.ids_partition_owned = true;
  options.drain_deadline = std::chrono::seconds(5);
  return options;
}

RunningMember::RunningMember(const RuntimeOptions& options, Window* window, Handler handler) {
  auto runtime = Runtime::Open(options, window, std::move(handler));
  if (!runtime) {
    throw std::runtime_error(ToString(runtime.error()));
  }
  runtime_ = *std::move(runtime);
  thread_ = std::jthread([this](std::stop_token stop) { report_ = runtime_->Run(stop); });
}

RunningMember::~RunningMember() {
  Stop();
}

const RunReport& RunningMember::Stop() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  return *report_;
}

}  // namespace oncemq::testing
