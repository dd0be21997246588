// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace oncemq::testing {

// One server for all tests of a program.
template <class Server>
Server& SuiteServer() {
  static const auto server = Server::Start();
  return *server;
}

}  // namespace oncemq::testing
