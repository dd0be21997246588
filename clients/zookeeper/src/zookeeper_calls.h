// SPDX-License-Identifier: Apache-2.0
// One call, handed over to the C client and back.
#pragma once

#include <zookeeper/zookeeper.h>

#include <functional>

#include "oncemq/clients/zookeeper_session.h"

namespace oncemq {

using ZooKeeperDone = std::function<void(const Result<ZooKeeperReply>&)>;

// `done` is called once: on a thread of the client, or before this returns. `acl` is of nodes that
// are made.
void HandOver(zhandle_t* handle, const std::string& chroot, const ACL_vector& acl,
              const ZooKeeperCall& call, ZooKeeperDone done);

// A path of the server as the session's user knows it.
std::string_view BehindChroot(std::string_view path, std::string_view chroot);

// What a code of the C client is as an Error.
Error ZooKeeperError(int code);

}  // namespace oncemq
