// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/start_thread.h"

#include <pthread.h>

#include <system_error>
#include <utility>

#include "oncemq/base/log.h"

namespace oncemq {

std::optional<std::thread> StartThread(const char* name, std::function<void()> body) {
  try {
    std::thread thread(std::move(body));
    pthread_setname_np(thread.native_handle(), name);
    return thread;
  } catch (const std::system_error& error) {
    Log(LogLevel::kError, "runtime", "the system gives no thread",
        {{"thread", name}, {"error", error.what()}});
    return std::nullopt;
  }
}

}  // namespace oncemq
