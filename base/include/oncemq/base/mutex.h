// SPDX-License-Identifier: Apache-2.0
// A mutex that clang's thread-safety analysis understands: members say which lock guards them, and
// a build with clang proves it.
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define ONCEMQ_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define ONCEMQ_THREAD_ANNOTATION(x)
#endif

#define GUARDED_BY(mutex) ONCEMQ_THREAD_ANNOTATION(guarded_by(mutex))
#define REQUIRES(mutex) ONCEMQ_THREAD_ANNOTATION(requires_capability(mutex))

namespace oncemq {

class ONCEMQ_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void lock() ONCEMQ_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  bool try_lock() ONCEMQ_THREAD_ANNOTATION(try_acquire_capability(true)) {
    return mutex_.try_lock();
  }
  void unlock() ONCEMQ_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class ONCEMQ_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ONCEMQ_THREAD_ANNOTATION(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() ONCEMQ_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

using ConditionVariable = std::condition_variable_any;

}  // namespace oncemq
