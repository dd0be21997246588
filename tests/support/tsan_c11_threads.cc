// SPDX-License-Identifier: Apache-2.0
// ThreadSanitizer and librdkafka. Debian's librdkafka uses C11's threads (thrd_create, mtx_lock),
// which ThreadSanitizer of GCC 12 doesn't know: a thread that was made so crashes in the first
// function that it watches, and no lock of librdkafka orders anything. Programs that are built with
// it define C11's functions here, by POSIX's, which it knows; the dynamic linker prefers ours.
// glibc's own are made the same way, so the objects' sizes and contents fit.
// What it counts with atomics stays unseen (tsan_libraries.cc).
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <cstdint>

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t));
static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t));
static_assert(sizeof(once_flag) == sizeof(pthread_once_t));

namespace {

struct Start {
  thrd_start_t function;
  void* argument;
};

void* Run(void* given) {
  const Start start = *static_cast<Start*>(given);
  delete static_cast<Start*>(given);
  return reinterpret_cast<void*>(static_cast<intptr_t>(start.function(start.argument)));
}

int Answer(int error) {
  switch (error) {
    case 0:
      return thrd_success;
    case EBUSY:
      return thrd_busy;
    case ETIMEDOUT:
      return thrd_timedout;
    case ENOMEM:
      return thrd_nomem;
    default:
      return thrd_error;
  }
}

pthread_mutex_t* Posix(mtx_t* mutex) {
  return reinterpret_cast<pthread_mutex_t*>(mutex);
}
pthread_cond_t* Posix(cnd_t* condition) {
  return reinterpret_cast<pthread_cond_t*>(condition);
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  auto* start = new Start{function, argument};
  const int error = pthread_create(thread, nullptr, Run, start);
  if (error != 0) {
    delete start;
  }
  return error == EAGAIN ? thrd_nomem : Answer(error);
}

int thrd_join(thrd_t thread, int* result) {
  void* value = nullptr;
  const int error = pthread_join(thread, &value);
  if (result != nullptr) {
    *result = static_cast<int>(reinterpret_cast<intptr_t>(value));
  }
  return Answer(error);
}

int thrd_detach(thrd_t thread) {
  return Answer(pthread_detach(thread));
}

int mtx_init(mtx_t* mutex, int type) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if ((type & mtx_recursive) != 0) {
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  }
  const int error = pthread_mutex_init(Posix(mutex), &attributes);
  pthread_mutexattr_destroy(&attributes);
  return Answer(error);
}

int mtx_lock(mtx_t* mutex) {
  return Answer(pthread_mutex_lock(Posix(mutex)));
}
int mtx_trylock(mtx_t* mutex) {
  return Answer(pthread_mutex_trylock(Posix(mutex)));
}
int mtx_unlock(mtx_t* mutex) {
  return Answer(pthread_mutex_unlock(Posix(mutex)));
}
void mtx_destroy(mtx_t* mutex) {
  pthread_mutex_destroy(Posix(mutex));
}

int cnd_init(cnd_t* condition) {
  return Answer(pthread_cond_init(Posix(condition), nullptr));
}
int cnd_signal(cnd_t* condition) {
  return Answer(pthread_cond_signal(Posix(condition)));
}
int cnd_broadcast(cnd_t* condition) {
  return Answer(pthread_cond_broadcast(Posix(condition)));
}
void cnd_destroy(cnd_t* condition) {
  pthread_cond_destroy(Posix(condition));
}
int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  return Answer(pthread_cond_wait(Posix(condition), Posix(mutex)));
}
int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  return Answer(pthread_cond_timedwait(Posix(condition), Posix(mutex), until));
}

void call_once(once_flag* flag, void (*function)()) {
  pthread_once(reinterpret_cast<pthread_once_t*>(flag), function);
}

#pragma GCC visibility pop
}
