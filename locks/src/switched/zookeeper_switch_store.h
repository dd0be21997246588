// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "oncemq/base/switch_store.h"

namespace oncemq {

Result<std::shared_ptr<SwitchStore>> OpenZooKeeperSwitchStore(std::string_view address,
                                                              const std::string& name);

}  // namespace oncemq
