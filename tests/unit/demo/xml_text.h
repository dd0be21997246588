// SPDX-License-Identifier: Apache-2.0
// Whether a text is well-formed XML, for the little that the report page uses of it: elements with
// quoted attributes, text, the five named entities and numeric ones, a document type.
//
// Thread safety: a pure function.
#pragma once

#include <string>
#include <string_view>

namespace oncemq::demo {

// Empty if it is; otherwise where and what.
std::string WhyNotXml(std::string_view text);

}  // namespace oncemq::demo
