// SPDX-License-Identifier: Apache-2.0
#include "aside.h"

#include "oncemq/base/start_thread.h"

namespace oncemq {

std::unique_ptr<Aside> Aside::Start() {
  std::unique_ptr<Aside> aside(new Aside());
  aside->thread_ = StartThread("oncemq-aside", [a = aside.get()] { a->Work(); });
  return aside->thread_ ? std::move(aside) : nullptr;
}

Aside::~Aside() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (thread_) {
    thread_->join();
  }
}

void Aside::Run(std::function<void()> call) {
  MutexLock lock(mutex_);
  calls_.push_back(std::move(call));
  changed_.notify_all();
}

void Aside::Work() {
  for (;;) {
    std::function<void()> call;
    {
      MutexLock lock(mutex_);
      while (!ending_ && calls_.empty()) {
        changed_.wait(mutex_);
      }
      if (ending_) {
        return;
      }
      call = std::move(calls_.front());
      calls_.pop_front();
    }
    call();
  }
}

}  // namespace oncemq
