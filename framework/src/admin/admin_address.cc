// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "oncemq/base/bytes.h"
#include "oncemq/framework/admin.h"

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
  }
  return wrong.empty() ? Status() : Error{Code::kInvalid, Effect::kNone, std::move(wrong)};
}

Result<AdminAddress> ParseAdminAddress(std::string_view text) {
  const Error wrong{
      Code::kInvalid, Effect::kNone,
      "is no port, and no address with a port: 9464, 127.0.0.1:9464, 0.0.0.0:9464, [::1]:9464"};
  const size_t colon = text.rfind(':');
  const std::string_view host =
      colon == std::string_view::npos ? "localhost" : text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);  // of npos: the whole
  const auto port = ParseDecimal(digits);
  if (!port || *port < 0 || *port > 65'535 || digits.size() > 5) {
    return wrong;
  }
  AdminAddress address{.host = std::string(host), .port = static_cast<uint16_t>(*port)};
  in6_addr v6{};
  in_addr v4{};
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    address.host = host.substr(1, host.size() - 2);
    address.loopback = address.host == "::1";
    return inet_pton(AF_INET6, address.host.c_str(), &v6) == 1 ? address
                                                               : Result<AdminAddress>(wrong);
  }
  if (host == "localhost") {
    address.host = "127.0.0.1";
  }
  address.loopback = address.host.starts_with("127.");
  return inet_pton(AF_INET, address.host.c_str(), &v4) == 1 ? address : Result<AdminAddress>(wrong);
}

std::string AdminExposure(const AdminOptions& options) {
  const auto address = ParseAdminAddress(options.listen);
  return options.listen.empty() || !address || address->loopback
             ? ""
             : "everybody with a way to `admin.listen` (" + options.listen +
                   ") reads the metrics and the health of the service";
}

}  // namespace oncemq
