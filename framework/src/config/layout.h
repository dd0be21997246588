// SPDX-License-Identifier: Apache-2.0
// Faults of a file's layout that a YAML parser reports far from their place, or not at all.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "section.h"

namespace oncemq {

// Tabs that indent, and a quote that takes in following lines which look like keys, because nobody
// closed it. Texts in quotes may span lines otherwise, and blocks (`|`, `>`) hold anything.
void FindLayoutFaults(std::string_view yaml, Findings& findings);

// What the parser's words mean, in those of somebody who wrote a file: " (...)", or nothing.
std::string PlainWords(std::string_view parser_says);

}  // namespace oncemq
