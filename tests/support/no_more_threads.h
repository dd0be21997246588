// SPDX-License-Identifier: Apache-2.0
// While it lives, the system has no room for another thread's stack.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace oncemq::testing {

class NoMoreThreads {
 public:
  NoMoreThreads() {
    pthread_getattr_default_np(&old_);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, size_t{1} << 47);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoMoreThreads() {
    pthread_setattr_default_np(&old_);
    pthread_attr_destroy(&old_);
  }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

 private:
  pthread_attr_t old_;
};

}  // namespace oncemq::testing
