// SPDX-License-Identifier: Apache-2.0
#include "broker_error.h"

#include "oncemq/base/log.h"

namespace oncemq {
namespace {

// Connections, elections, moving replicas, busy brokers.
bool ComesAndGoes(rd_kafka_resp_err_t code) {
  switch (code) {
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
    case RD_KAFKA_RESP_ERR__WAIT_CACHE:
    case RD_KAFKA_RESP_ERR__WAIT_COORD:
    case RD_KAFKA_RESP_ERR__IN_PROGRESS:
    case RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR__NODE_UPDATE:
    case RD_KAFKA_RESP_ERR__OUTDATED:
    case RD_KAFKA_RESP_ERR__RETRY:
    case RD_KAFKA_RESP_ERR_UNKNOWN:  // an error inside the broker; its clients ask again
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
    case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
    case RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR:
    case RD_KAFKA_RESP_ERR_LISTENER_NOT_FOUND:
    case RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_PREFERRED_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT:
    case RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool FetchGoesOn(rd_kafka_resp_err_t code) {
  switch (code) {
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
    case RD_KAFKA_RESP_ERR_FETCH_SESSION_ID_NOT_FOUND:
    case RD_KAFKA_RESP_ERR_INVALID_FETCH_SESSION_EPOCH:
      return true;
    default:
      return ComesAndGoes(code);
  }
}

Error BrokerError(rd_kafka_resp_err_t code, const std::string& what) {
  const std::string text = what + ": " + rd_kafka_err2str(code);
  if (code == RD_KAFKA_RESP_ERR__TIMED_OUT || code == RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT) {
    return {Code::kTimeout, Effect::kNone, text};
  }
  if (ComesAndGoes(code)) {
    return {Code::kUnavailable, Effect::kNone, text};
  }
  if (code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART || code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
      code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION) {
    return {Code::kNotFound, Effect::kNone, text};
  }
  const bool denied = code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
                      code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ||
                      code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED;
  return {
      Code::kInvalid, Effect::kNone,
      text + (denied ? " (the group needs the right to read and describe topic and group)" : "")};
}

void LogCall(const char* what, const rd_kafka_error_t* error) {
  if (error != nullptr) {
    Log(LogLevel::kError, "kafka", what, {{"error", rd_kafka_error_string(error)}});
  }
}

void LogCall(const char* what, rd_kafka_resp_err_t code) {
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    Log(LogLevel::kError, "kafka", what, {{"error", rd_kafka_err2str(code)}});
  }
}

}  // namespace oncemq
