// SPDX-License-Identifier: Apache-2.0
// Which errors of broker and client pass by themselves. Both lists name what is known to be
// harmless: an error that nobody has thought of stops what it concerns.
#pragma once

#include <string>

#include "oncemq/base/result.h"
#include "rdkafka_ptr.h"

namespace oncemq {

// In place of a record: the client asks for the same offset again, and nothing of the log has been
// passed over. False: a record that can't be read (the client may go on behind it), or nobody
// knows.
bool FetchGoesOn(rd_kafka_resp_err_t code);

// In answer to a question: kUnavailable or kTimeout where the broker may answer better the next
// time, kNotFound where nobody knows the topic (yet), else kInvalid, with a text for whoever has to
// act.
Error BrokerError(rd_kafka_resp_err_t code, const std::string& what);

// Says in the log, as an error, that a call has failed; nothing where it has not.
void LogCall(const char* what, const rd_kafka_error_t* error);
void LogCall(const char* what, rd_kafka_resp_err_t code);

}  // namespace oncemq
