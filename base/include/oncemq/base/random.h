// SPDX-License-Identifier: Apache-2.0
// Unpredictable numbers from the operating system. The only source of randomness outside tests.
#pragma once

#include <cstdint>

namespace oncemq {

// Aborts if the system cannot give random bytes: no right may rest on a guess.
//
// Thread safety: any thread.
uint64_t SecureRandom64();

}  // namespace oncemq
