// SPDX-License-Identifier: Apache-2.0
// The refusal of a store that was made by another service.
//
// Thread safety: any thread.
#pragma once

#include <string_view>

#include "oncemq/base/result.h"

namespace oncemq {

// kInvalid, with both owners, their first difference in front. `store` begins the text.
Error OtherOwner(std::string_view store, std::string_view kept, std::string_view asked);

}  // namespace oncemq
