// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/store_secret.h"
#include "store_statements.h"

namespace oncemq {

// A node for each application, which nobody else may read, list or write below; what lies below it
// the application makes, for itself alone. A node that is there already keeps what it holds.
std::vector<std::string> ZooKeeperStatements(const GrantOrder& order) {
  std::vector<std::string> lines;
  std::string path;
  std::string_view chroot = order.place;
  const size_t slash = chroot.find('/');
  chroot.remove_prefix(slash == std::string_view::npos ? chroot.size() : slash + 1);
  while (!chroot.empty()) {
    const size_t end = chroot.find('/');
    path.append("/").append(chroot.substr(0, end));
    lines.push_back("create " + path);
    chroot.remove_prefix(end == std::string_view::npos ? chroot.size() : end + 1);
  }
  path.append("/").append(order.application);
  // In one step: nobody finds it open.
  const std::string acl =
      " \"\" digest:" + ZooKeeperVerifier(order.user, order.password) + ":cdrwa";
  lines.push_back("create " + path + acl);
  return lines;
}

}  // namespace oncemq
