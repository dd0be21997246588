// SPDX-License-Identifier: Apache-2.0
// Makes any bytes safe to print. Control characters (CR, LF and ESC among them), invisible
// direction marks and line separators become escapes, invalid UTF-8 becomes U+FFFD, so that one
// line stays one line and no text can paint the terminal or forge a second line. Total: every input
// gives valid UTF-8 without control characters.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace oncemq {

// Longer strings are cut here, at a character's border, and say how much is missing.
inline constexpr size_t kLogStringLimit = 4096;

// Appends without quotes, for the free text of a terminal line: \n, \t, \x1b, \u202e.
void AppendLogText(std::string& out, std::string_view bytes);

// Appends a field's value for a terminal line: as AppendLogText, in quotes where spaces or quotes
// would mislead.
void AppendLogValue(std::string& out, std::string_view bytes);

// Appends a JSON string with its quotes.
void AppendLogJson(std::string& out, std::string_view bytes);

}  // namespace oncemq
