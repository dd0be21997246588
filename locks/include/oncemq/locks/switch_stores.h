// SPDX-License-Identifier: Apache-2.0
// Where the record of a switchboard can be kept, by its address:
//
//   file:/directory                      processes of one host
//   etcd://host[:port][,host[:port]...]  many hosts; changes are heard at once
//   zookeeper://host[:port][,host[:port]...][/chroot]   the same
//   postgres://user@host/database, mariadb://user@host/database
//                                        many hosts; looked at once a second
//
// The rest of an address is as of the lock engines. A database's tables, oncemq_switch_v1 and
// oncemq_switch_words_v1, are made where they are missing, by a role that may.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "oncemq/base/result.h"
#include "oncemq/base/switch_store.h"

namespace oncemq {

// `name`: of the switchboard, as stores are called (IsStoreName); one place can keep several.
// Failures: kInvalid (never with a password in it), else the store's.
Result<std::shared_ptr<SwitchStore>> OpenSwitchStore(std::string_view address,
                                                     const std::string& name = "locks");

}  // namespace oncemq
