// SPDX-License-Identifier: Apache-2.0
// Calls, handed over to the C client and back.
#pragma once

#include <zookeeper/zookeeper.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "oncemq/base/mutex.h"
#include "oncemq/clients/zookeeper_session.h"

namespace oncemq {

using ZooKeeperDone = std::function<void(const Result<ZooKeeperReply>&)>;

// The calls of one session that are under way.
class OpenZooKeeperCalls {
 public:
  // What the C client gives back with an answer.
  struct Ticket {
    OpenZooKeeperCalls& open;
    ZooKeeperDone done;
    std::string_view chroot;               // of the session, which outlives it
    std::vector<zoo_op_result_t> results;  // of the steps
    std::vector<std::string> made;         // by each that creates
    Stat stat;                             // of one that sets
  };

  // `done` is called once: on a thread of the client, or before this returns. `acl` is of nodes
  // that are made.
  void HandOver(zhandle_t* handle, const std::string& chroot, const ACL_vector& acl,
                const ZooKeeperCall& call, ZooKeeperDone done);

  // Behind zookeeper_close, which forgets calls that nobody answered: its thread for answers may
  // have ended before the one that fails what is under way.
  void AnswerTheRest();

  // Whoever has it answers it.
  std::unique_ptr<Ticket> Take(const Ticket* ticket);

 private:
  Mutex mutex_;
  std::unordered_map<const Ticket*, std::unique_ptr<Ticket>> tickets_ GUARDED_BY(mutex_);
};

// A path of the server as the session's user knows it.
std::string_view BehindChroot(std::string_view path, std::string_view chroot);

// What a code of the C client is as an Error.
Error ZooKeeperError(int code);

}  // namespace oncemq
