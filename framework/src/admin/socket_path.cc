// SPDX-License-Identifier: Apache-2.0
#include <sys/un.h>

#include "oncemq/framework/admin.h"
#include "socket_name.h"

namespace oncemq {

Status CheckAdminSocket(std::string_view path) {
  constexpr size_t kMost = sizeof(sockaddr_un::sun_path) - 1;
  std::string wrong;
  if (path.empty() || path.back() == '/') {
    wrong = "names no file";
  } else if (path.find('\0') != std::string_view::npos) {
    wrong = "holds a zero byte";
  } else if (path.size() > kMost) {
    wrong = "has " + std::to_string(path.size()) + " bytes; the path of a socket has at most " +
            std::to_string(kMost);
  } else if (const size_t folder = FolderOf(path).size(); folder + kNameBeside > kMost) {
    wrong = "lies in a directory whose path has " + std::to_string(folder) +
            " bytes; a socket's has at most " + std::to_string(kMost - kNameBeside);
  }
  return wrong.empty() ? Status() : Error{Code::kInvalid, Effect::kNone, std::move(wrong)};
}

}  // namespace oncemq
