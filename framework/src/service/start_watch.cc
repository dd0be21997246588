// SPDX-License-Identifier: Apache-2.0
#include "start_watch.h"

#include <utility>
#include <vector>

#include "oncemq/base/mutex.h"
#include "oncemq/framework/run_metrics.h"

namespace oncemq {

// Stands for a runtime that is not there yet.
class StartWatch::WaitingRuntime final : public Runtime {
 public:
  void Note(std::string why, bool window) {
    MutexLock lock(mutex_);
    state_.starting = std::move(why);
    state_.window_fails = window;
  }

  RunReport Run(std::stop_token) override { return Report(); }
  RunReport Report() const override {
    RunReport report;
    MutexLock lock(mutex_);
    report.state = state_;
    return report;
  }
  Result<std::vector<FoundMessage>> FindOpen(std::string_view, milliseconds) const override {
    return std::vector<FoundMessage>{};
  }
  const std::string& guarantee() const override { return guarantee_; }

 private:
  const std::string guarantee_;
  mutable Mutex mutex_;
  RunState state_ GUARDED_BY(mutex_);
};

StartWatch::StartWatch(const ServiceOptions& options)
    : options_(options), runtime_(std::make_unique<WaitingRuntime>()) {}

StartWatch::~StartWatch() = default;

void StartWatch::Waits(const std::string& store, const Error& why, bool window) {
  const bool refused = why.code == Code::kRefused;
  runtime_->Note(store + (refused ? " refuses the login: " : " does not answer: ") + why.message,
                 window);
  if (admin_ != nullptr || options_.admin.listen.empty()) {
    return;
  }
  AdminOptions port = options_.admin;
  port.socket.clear();
  auto admin = AdminSocket::Open(port, {.runtime = runtime_.get(), .metrics = [this] {
                                          const KafkaOptions& kafka = options_.runtime.kafka;
                                          return RunMetricsText(
                                              runtime_->Report(),
                                              {.group = kafka.group, .topics = kafka.topics});
                                        }});
  if (admin) {
    admin_ = *std::move(admin);
  }
}

}  // namespace oncemq
