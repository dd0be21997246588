// SPDX-License-Identifier: Apache-2.0
// The directory of a socket's name.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace oncemq {

// To be opened.
inline std::string FolderOrHere(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "." : std::string(path.substr(0, slash + 1));
}

}  // namespace oncemq
