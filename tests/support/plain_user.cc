// SPDX-License-Identifier: Apache-2.0
#include "plain_user.h"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace oncemq::testing {
namespace {

constexpr const char* kSetpriv = "/usr/bin/setpriv";

const passwd* PlainUser() {
  return getpwnam("nobody");
}

}  // namespace

std::optional<std::string> MissingForPlainUser() {
  if (getuid() == 0 && (PlainUser() == nullptr || access(kSetpriv, X_OK) != 0)) {
    return "a server that refuses to run as root needs the user nobody, and setpriv (util-linux)";
  }
  return std::nullopt;
}

std::vector<std::string> AsPlainUser(std::vector<std::string> command) {
  if (getuid() != 0) {
    return command;
  }
  const passwd* user = PlainUser();
  std::vector<std::string> all{kSetpriv, "--reuid=" + std::to_string(user->pw_uid),
                               "--regid=" + std::to_string(user->pw_gid), "--clear-groups",
                               // Another user's process forgets the signal that ours asked for.
                               "--pdeathsig", "KILL"};
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

void GiveToPlainUser(const std::filesystem::path& path) {
  if (getuid() != 0) {
    return;
  }
  const passwd* user = PlainUser();
  if (chown(path.c_str(), user->pw_uid, user->pw_gid) != 0) {
    throw std::runtime_error("chown " + path.string() + ": " + std::strerror(errno));
  }
}

}  // namespace oncemq::testing
