// SPDX-License-Identifier: Apache-2.0
#include "id_questions.h"

#include <utility>

namespace oncemq {

Result<IdQuestions::Found> IdQuestions::Ask(std::string_view id, milliseconds within) {
  MutexLock lock(mutex_);
  if (wake_ == nullptr) {
    return Error{Code::kUnavailable, Effect::kNone, "the service does not handle messages now"};
  }
  const auto mine = questions_.insert(questions_.end(), {std::string(id), std::nullopt});
  asked_.store(true, std::memory_order_relaxed);
  wake_->Notify();
  while (!mine->answer && wake_ != nullptr) {
    if (answered_.wait_for(mutex_, within) == std::cv_status::timeout) {
      break;
    }
  }
  std::optional<Found> answer = std::move(mine->answer);
  questions_.erase(mine);
  if (answer) {
    return *std::move(answer);
  }
  return wake_ == nullptr
             ? Error{Code::kUnavailable, Effect::kNone, "the service has ended meanwhile"}
             : Error{Code::kTimeout, Effect::kNone,
                     "the poll thread has not answered within " + std::to_string(within.count()) +
                         " ms: it is busy, or waits for a broker"};
}

void IdQuestions::Begin(Wake& wake) {
  MutexLock lock(mutex_);
  wake_ = &wake;
}

void IdQuestions::Answer(const std::function<Found(const std::string& id)>& find) {
  if (!asked_.load(std::memory_order_relaxed)) {
    return;
  }
  MutexLock lock(mutex_);
  asked_.store(false, std::memory_order_relaxed);
  for (Question& question : questions_) {
    if (!question.answer) {
      question.answer = find(question.id);
    }
  }
  answered_.notify_all();
}

void IdQuestions::End() {
  MutexLock lock(mutex_);
  wake_ = nullptr;
  answered_.notify_all();
}

}  // namespace oncemq
