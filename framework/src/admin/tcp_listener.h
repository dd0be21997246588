// SPDX-License-Identifier: Apache-2.0
// A listening TCP socket at a numeric address.
//
// **Thread safety:** any thread.
#pragma once

#include "oncemq/framework/admin.h"
#include "owned_fd.h"

namespace oncemq {

// It listens, blocks, and is not inherited. kUnavailable where the port is taken. kInvalid where
// the address is none of this host, or the port needs rights.
Result<OwnedFd> ListenTcp(const AdminAddress& address);
uint16_t PortOf(const OwnedFd& listening);

}  // namespace oncemq
