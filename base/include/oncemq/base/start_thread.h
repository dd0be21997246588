// SPDX-License-Identifier: Apache-2.0
// StartThread: a thread, or a log line where the system gives none; std::thread throws.
//
// Thread safety: any thread.
#pragma once

#include <functional>
#include <optional>
#include <thread>

namespace oncemq {

// The name has at most 15 characters.
std::optional<std::thread> StartThread(const char* name, std::function<void()> body);

}  // namespace oncemq
