// SPDX-License-Identifier: Apache-2.0
// The writers: processes of the example's own program, each with a directory of its own, as on a
// host of its own. They meet in the broker and in PostgreSQL only.
//
// Thread safety: the main thread.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "child.h"
#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"

namespace ledger::demo {

using oncemq::demo::Child;

struct CrewOptions {
  std::filesystem::path program;
  std::filesystem::path service_file;
  std::filesystem::path directory;
  std::string brokers;
  std::string database;
};

class Crew {
 public:
  static constexpr size_t kWriters = 3;

  explicit Crew(CrewOptions options) : options_(std::move(options)) {}

  oncemq::Status Start();
  void Kill(size_t writer, oncemq::BootTime back_at);
  // Starts those whose time has come. Failure: a writer that ended by itself.
  oncemq::Status Tend(oncemq::BootTime now);
  // Asks all of them to leave, and waits. Failure: one that did not give everything back.
  oncemq::Status Leave();

  bool Running(size_t writer) const { return writers_[writer].child != nullptr; }
  int kills() const { return kills_; }
  std::vector<std::filesystem::path> Journals() const;
  // One more process of the program: `ledger close --day D`. Its log is named `log`.
  oncemq::Result<std::unique_ptr<Child>> Close(const std::string& day, const std::string& log);

 private:
  struct Writer {
    std::unique_ptr<Child> child;  // nullptr: killed, and not back yet
    oncemq::BootTime back_at{};
  };

  std::filesystem::path HomeOf(size_t writer) const;
  oncemq::Status StartOne(size_t writer);

  const CrewOptions options_;
  std::vector<Writer> writers_{kWriters};
  int kills_ = 0;
};

}  // namespace ledger::demo
