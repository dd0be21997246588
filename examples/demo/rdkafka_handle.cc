// SPDX-License-Identifier: Apache-2.0
#include "rdkafka_handle.h"

#include "oncemq/base/log.h"

namespace oncemq::demo {
namespace {

void LogLine(const rd_kafka_t*, int level, const char* facility, const char* text) {
  constexpr int kSyslogError = 3;
  Log(level <= kSyslogError ? LogLevel::kError : LogLevel::kInfo, "broker", text,
      {{"facility", facility}});
}

}  // namespace

Result<ClientPtr> OpenClient(const ClientOptions& options) {
  char why[512] = "";
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  for (const auto& [name, value] : options.properties) {
    if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), why, sizeof(why)) !=
        RD_KAFKA_CONF_OK) {
      rd_kafka_conf_destroy(conf);
      return Error{Code::kInvalid, Effect::kNone, why};
    }
  }
  rd_kafka_conf_set_log_cb(conf, LogLine);
  if (options.on_delivery != nullptr) {
    rd_kafka_conf_set_dr_msg_cb(conf, options.on_delivery);
  }
  rd_kafka_conf_set_opaque(conf, options.opaque);
  ClientPtr client(rd_kafka_new(options.type, conf, why, sizeof(why)));
  if (client == nullptr) {
    rd_kafka_conf_destroy(conf);  // a client that was made owns it
    return Error{Code::kUnavailable, Effect::kNone, why};
  }
  return client;
}

Error KafkaError(const std::string& what, rd_kafka_resp_err_t error) {
  const Code code = error == RD_KAFKA_RESP_ERR__TIMED_OUT ? Code::kTimeout : Code::kUnavailable;
  return {code, Effect::kUnknown, what + ": " + rd_kafka_err2str(error)};
}

}  // namespace oncemq::demo
