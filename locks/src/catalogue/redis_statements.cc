// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/store_secret.h"
#include "store_statements.h"

namespace oncemq {

// Since Redis 6.2. Inside a script each command is judged as if it stood alone.
std::vector<std::string> RedisStatements(const GrantOrder& order) {
  std::string keys;
  std::string channels = " resetchannels";  // by default a server of 6.2 gives all of them
  for (const std::string& space : order.spaces) {
    const std::string sized = std::to_string(space.size()) + ":" + space + ":*";
    keys.append(" ~oncemq:lock:").append(sized).append(" ~oncemq:lock:seal:").append(space);
    channels.append(" &oncemq:lock:wake:").append(sized);
  }
  // A new connection chooses a database only where the address names one.
  const bool database =
      order.place.substr(0, order.place.find('?')).find('/') != std::string_view::npos;
  return {"ACL SETUSER " + std::string(order.user) + " reset on #" + RedisVerifier(order.password) +
          keys + channels +
          " -@all +role +info +ping +eval +evalsha +time +get +getrange +set +scan +publish "
          "+subscribe" +
          (database ? " +select" : "")};
}

}  // namespace oncemq
