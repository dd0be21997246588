// SPDX-License-Identifier: Apache-2.0
// ConnectionListener: one connection that hears what a server says by itself, on a thread of its
// own; when it is lost another one is opened, in growing intervals.
//
// Thread safety: Start() once; then any thread. Destruction hangs up and takes as long as one
// `open`.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "oncemq/base/clock.h"
#include "oncemq/base/log.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/result.h"
#include "oncemq/base/start_thread.h"

namespace oncemq {

// A Connection is hung up by Hang(), from another thread than the one that listens.
template <class Connection>
class ConnectionListener {
 public:
  struct Calls {
    std::string_view area;  // of the log
    std::function<Result<std::unique_ptr<Connection>>()> open;
    // Until the connection is of no use. False: it never heard anything.
    std::function<bool(Connection&)> listen;
    std::function<void()> lost;  // behind each `listen`
  };

  explicit ConnectionListener(Calls calls) : calls_(std::move(calls)) {}
  ConnectionListener(const ConnectionListener&) = delete;
  ConnectionListener& operator=(const ConnectionListener&) = delete;
  ~ConnectionListener() {
    {
      MutexLock lock(mutex_);
      ending_ = true;
      if (connection_ != nullptr) {
        connection_->Hang();
      }
      ends_.notify_all();
    }
    if (thread_) {
      thread_->join();
    }
  }

  // False: the system gives no thread.
  [[nodiscard]] bool Start(const char* name) {
    thread_ = StartThread(name, [this] { Run(); });
    return thread_.has_value();
  }

 private:
  static constexpr milliseconds kShortestPause{20};
  static constexpr milliseconds kLongestPause{1'000};

  void Run() {
    for (milliseconds pause = kShortestPause;;) {
      auto opened = calls_.open();
      if (!opened) {
        Log(LogLevel::kDebug, calls_.area, "cannot listen", {{"error", ToString(opened.error())}});
      } else if (Use(opened->get())) {
        pause = calls_.listen(**opened) ? kShortestPause : pause;
        calls_.lost();
      }
      Use(nullptr);
      MutexLock lock(mutex_);
      if (!ending_) {
        ends_.wait_for(mutex_, pause);
      }
      if (ending_) {
        return;
      }
      pause = std::min(pause * 2, kLongestPause);
    }
  }
  bool Use(Connection* now) {
    MutexLock lock(mutex_);
    connection_ = now;
    return !ending_;
  }

  const Calls calls_;
  Mutex mutex_;
  ConditionVariable ends_;
  bool ending_ GUARDED_BY(mutex_) = false;
  Connection* connection_ GUARDED_BY(mutex_) = nullptr;
  std::optional<std::thread> thread_;
};

}  // namespace oncemq
