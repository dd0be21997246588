// SPDX-License-Identifier: Apache-2.0
// IdQuestions: takes questions about open messages from any thread to the poll thread, which alone
// may ask the core.
//
//   questions.Begin(wake);
//   auto found = questions.Ask("p-17", milliseconds(5'000));     // any thread, waits
//   questions.Answer([&](const std::string& id) { ... });        // the poll thread, in each round
//   questions.End();
//
// **Promise:** a round without a question costs one load of an atomic. No question is left without
// an answer after End().
//
// **Thread safety:** Ask() from any thread. The rest belongs to the poll thread.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/mutex.h"
#include "oncemq/framework/runtime.h"
#include "wake.h"

namespace oncemq {

class IdQuestions {
 public:
  using Found = std::vector<FoundMessage>;

  // kUnavailable before Begin() and after End(), kTimeout without an answer in time.
  Result<Found> Ask(std::string_view id, milliseconds within);

  // `wake` outlives the call of End().
  void Begin(Wake& wake);
  void Answer(const std::function<Found(const std::string& id)>& find);
  void End();

 private:
  struct Question {
    std::string id;
    std::optional<Found> answer;
  };

  std::atomic<bool> asked_{false};
  Mutex mutex_;
  ConditionVariable answered_;
  Wake* wake_ GUARDED_BY(mutex_) = nullptr;
  std::list<Question> questions_ GUARDED_BY(mutex_);
};

}  // namespace oncemq
