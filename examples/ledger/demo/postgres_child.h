// SPDX-License-Identifier: Apache-2.0
// A PostgreSQL of the demo's own: its data in the working directory, and a socket there instead of
// a port. It is not killed, so it does without fsync.
//
// Thread safety: the main thread.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "child.h"
#include "oncemq/base/result.h"

namespace ledger::demo {

using oncemq::demo::Child;

class PostgresChild {
 public:
  // The newest one of this machine's; nothing: there is none.
  static std::optional<std::filesystem::path> Programs();
  // Blocks until it answers, for half a minute at most. `directory` is made.
  static oncemq::Result<std::unique_ptr<PostgresChild>> Start(
      const std::filesystem::path& programs, const std::filesystem::path& directory);

  // Stops it in order: killed, it would leave a segment of shared memory.
  ~PostgresChild();

  const std::string& address() const { return address_; }

 private:
  PostgresChild(std::unique_ptr<Child> child, std::string address)
      : child_(std::move(child)), address_(std::move(address)) {}

  const std::unique_ptr<Child> child_;
  const std::string address_;
};

}  // namespace ledger::demo
