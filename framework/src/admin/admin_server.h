// SPDX-License-Identifier: Apache-2.0
// AdminServer: one thread that serves the clients of one socket.
//
// Promise: a client that is slow, silent or hostile holds up nobody: each has its deadline, and
// there are at most `connections` at a time. Commands run one after the other on this thread.
//
// Thread safety: made and destroyed on one thread. The destructor ends all conversations at once,
// but for a command that runs: it waits for it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "admin_commands.h"
#include "admin_connection.h"
#include "admin_listener.h"
#include "oncemq/base/clock.h"
#include "oncemq/framework/admin.h"
#include "wake.h"

namespace oncemq {

// The service's own user, and root.
bool MayQuery(uid_t who, uid_t service);

class AdminServer final : public AdminSocket {
 public:
  struct Options {
    milliseconds deadline;
    uint32_t connections;
    std::function<bool(uid_t)> may_query;
  };
  static Result<std::unique_ptr<AdminServer>> Start(std::unique_ptr<AdminListener> listener,
                                                    AdminCommands commands, Options options,
                                                    const Clock& clock);
  ~AdminServer() override;

 private:
  AdminServer(std::unique_ptr<AdminListener> listener, std::unique_ptr<Wake> wake,
              AdminCommands commands, Options options, const Clock& clock);
  void Run();
  void Round();
  int Patience() const;
  void Accept();
  void Greet(OwnedFd fd);
  void DropTheLate();

  const std::unique_ptr<AdminListener> listener_;
  const std::unique_ptr<Wake> wake_;
  AdminCommands commands_;
  const Options options_;
  const Clock& clock_;
  std::vector<AdminConnection> connections_;
  BootTime accept_again_{};  // the system had no descriptor left before
  std::atomic<bool> ending_{false};
  std::optional<std::thread> thread_;
};

}  // namespace oncemq
