// SPDX-License-Identifier: Apache-2.0
// HttpAnswer: what an HttpServer sends back.
//
// **Thread safety:** none; a value type.
#pragma once

#include <string>

namespace oncemq {

struct HttpAnswer {
  int status = 200;
  std::string body;
  std::string type = "application/json";
};

}  // namespace oncemq
