// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "oncemq/base/switch_store.h"
#include "oncemq/clients/sql_client.h"

namespace oncemq {

Result<std::shared_ptr<SwitchStore>> OpenSqlSwitchStore(std::unique_ptr<SqlClient> client,
                                                        const std::string& name);

}  // namespace oncemq
