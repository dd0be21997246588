// SPDX-License-Identifier: Apache-2.0
// A group, seen from outside, as JSON and as a table.
//
// Thread safety: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "oncemq/framework/group_status.h"
#include "oncemq/framework/park.h"
#include "status_table.h"

namespace oncemq {

struct GroupView {
  std::string group;
  GroupStatus status;
  std::vector<ParkedCount> parked;  // of the partitions with a park topic
  nlohmann::ordered_json here;      // `status` of the member on this host, null without one
};

// With the reasons for a probe to fail, `standstills` and `wrong_sums`.
nlohmann::ordered_json GroupJson(const GroupView& view);

StatusTable GroupTableOf(const nlohmann::ordered_json& group);

// kExitVerification before kExitFailed.
int ExitCodeOfGroup(const nlohmann::ordered_json& group);

}  // namespace oncemq
