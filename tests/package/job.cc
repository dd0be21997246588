// SPDX-License-Identifier: Apache-2.0
// A job that must not run twice at a time: a lock without a window and without Kafka.
#include <cstdio>

#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/lock_engines.h"

int main(int argc, char** argv) {
  // Say redis://host: all who open the same address and space exclude each other.
  const auto engine = oncemq::OpenLockEngine(argc > 1 ? argv[1] : "memory:", "jobs");
  const auto domain = engine ? oncemq::LockDomain::Open(*engine) : engine.error();
  if (!domain) {
    std::fprintf(stderr, "%s\n", domain.error().message.c_str());
    return 1;
  }
  auto lease = (*domain)->TryAcquire("nightly");  // an Error; or granted, or not
  if (!lease || !*lease) {
    std::fprintf(stderr, "%s\n", lease ? "somebody else runs it" : lease.error().message.c_str());
    return 1;
  }
  const auto second = (*domain)->TryAcquire("nightly");
  const bool alone = second && !*second && (*lease)->StillMine();
  std::printf("%s, under fence %llu\n", alone ? "alone" : "not alone",
              static_cast<unsigned long long>((*lease)->fence().token));
  return alone && (*lease)->Release() == oncemq::Released::kYes ? 0 : 1;
}
