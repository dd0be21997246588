// SPDX-License-Identifier: Apache-2.0
// The window of a service file, also in Redis.
//
//   int main(int argc, char** argv) {
//     return oncemq::RunService(argc, argv, OnPayment,
//                               {.open_window = oncemq::OpenRedisServiceWindow});
//   }
//
// Link oncemq::service_redis for it: with that comes the client of Redis. Any other engine is
// opened as without it. A program for files with either server links both libraries, and gives
// RunService a function that chooses by `options.engine`.
#pragma once

#include <memory>

#include "oncemq/base/result.h"
#include "oncemq/dedup/window.h"
#include "oncemq/framework/service_options.h"

namespace oncemq {

// nullptr: the options want no window. Where they name no scope, it is WindowScope(). Failures: the
// engine's (redis_window.h); no password is in them.
//
// Thread safety: any thread. Blocks: for three calls.
Result<std::unique_ptr<Window>> OpenRedisServiceWindow(const ServiceOptions& options);

}  // namespace oncemq
