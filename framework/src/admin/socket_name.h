// SPDX-License-Identifier: Apache-2.0
// Names beside a socket's own: it is born under one, and a stale one is taken away under one.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "oncemq/base/bytes.h"
#include "oncemq/base/random.h"

namespace oncemq {

// With its slash; empty for the working directory.
inline std::string_view FolderOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash + 1);
}

// The same as a directory to be opened.
inline std::string FolderOrHere(std::string_view path) {
  const std::string_view folder = FolderOf(path);
  return folder.empty() ? "." : std::string(folder);
}

inline constexpr std::string_view kBeside = ".oncemq-";
inline constexpr size_t kNameBeside = kBeside.size() + 8;

// A name in the same folder that nobody else has.
inline std::string NameBeside(std::string_view path) {
  return std::string(FolderOf(path)) + std::string(kBeside) + Hex(SecureRandom64()).substr(8);
}

}  // namespace oncemq
