// SPDX-License-Identifier: Apache-2.0
// Text for HTML and SVG that is well-formed XML too.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace oncemq::demo {

// Any bytes as text or attribute. What no document may hold, a control character, becomes '?'.
std::string Escaped(std::string_view text);

// "<td class="x">text</td>"; the text is escaped, `attributes` are not.
std::string Element(std::string_view name, std::string_view text, std::string_view attributes = {});

}  // namespace oncemq::demo
