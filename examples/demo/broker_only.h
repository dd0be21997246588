// SPDX-License-Identifier: Apache-2.0
// `demo --broker-only`: the embedded broker with a slow stream of payments, for a first try of the
// command `oncemq` or of a program of one's own. It ends at SIGINT or SIGTERM, and with the process
// that started it.
// Failure: no broker can be started. Before the embedded broker would drop a message, the stream
// ends and the broker stays.
//
// Thread safety: the main thread.
#pragma once

#include "options.h"

namespace oncemq::demo {

// The exit code: 0 when it was asked to end.
int OfferBroker(const DemoOptions& options);

}  // namespace oncemq::demo
