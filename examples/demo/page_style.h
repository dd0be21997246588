// SPDX-License-Identifier: Apache-2.0
// The style sheet of the report: light and dark, narrow screens, paper.
#pragma once

#include <string_view>

namespace oncemq::demo {

extern const std::string_view kPageStyle;

}  // namespace oncemq::demo
