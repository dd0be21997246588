// SPDX-License-Identifier: Apache-2.0
// A child process of a demo: a server, or a writer. The kernel kills it when the demo dies.
//
// Thread safety: the main thread; it lives as long as the demo.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"

namespace oncemq::demo {

struct ChildOptions {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment = {};  // besides our own
  std::filesystem::path log;                                          // appended to
  bool as_nobody = false;  // where we are root: PostgreSQL refuses to run as root
};

class Child {
 public:
  static Result<std::unique_ptr<Child>> Start(const ChildOptions& options);
  // Kills it.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void Signal(int number);
  void Kill();  // and waits for its end
  // Its exit code, or 128 and the signal, once it has ended.
  std::optional<int> Ended();
  // Nothing: it goes on after that time.
  std::optional<int> Wait(milliseconds longest);

 private:
  explicit Child(pid_t pid) : pid_(pid) {}

  const pid_t pid_;
  std::optional<int> ended_;
};

// For a moment, or until somebody ends the demo: true. SIGINT, SIGTERM and SIGHUP are blocked then.
bool PauseOrEnd(milliseconds longest);
void BlockEnds();

}  // namespace oncemq::demo
