// SPDX-License-Identifier: Apache-2.0
#include "admin_socket_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "oncemq/dedup/store_reader.h"

namespace oncemq {
namespace {

constexpr size_t kLongestPath = 4'096;  // of a path

std::string FileOf(const std::string& directory) {
  return directory + "/ASKED_AT";
}

}  // namespace

// Away first: a full disk must not leave the word of a former holder.
void WriteAdminSocket(const std::string& directory, const std::string& socket) {
  std::error_code failed;
  std::filesystem::remove(FileOf(directory), failed);
  if (!socket.empty()) {
    std::ofstream(FileOf(directory), std::ios::binary) << socket;
  }
}

// Whatever lies under that name: it is not waited for, and not followed to another place.
std::string AdminSocketOf(const std::string& directory) {
  const int file = open(FileOf(directory).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) {
    return "";
  }
  std::array<char, kLongestPath> bytes;
  const ssize_t got = read(file, bytes.data(), bytes.size());
  close(file);
  return got <= 0 ? "" : std::string(bytes.data(), static_cast<size_t>(got));
}

}  // namespace oncemq
