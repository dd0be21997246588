// SPDX-License-Identifier: Apache-2.0
// A server or a victim as a child process of a test.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace oncemq::testing {

struct ProcessOptions {
  // The program, looked up in PATH, and its arguments.
  std::vector<std::string> command = {};
  // Added to our own environment.
  std::map<std::string, std::string> environment = {};
  // Where its standard output and error are appended.
  std::filesystem::path log_file = "/dev/null";
};

// A child process that can't outlive the test: it is killed by the destructor, and by the kernel
// when the thread that started it ends or the test dies. So start it from a thread that stays, as
// the main thread does. Only this child is ever signalled, by its id.
// Throws std::runtime_error when the program can't be started.
//
// Thread safety: one thread at a time; a signal to a child that is gone does nothing.
class Process {
 public:
  explicit Process(const ProcessOptions& options);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // The id stays known after the end; it is signalled only before.
  pid_t pid() const { return pid_; }
  bool Running() { return !Wait(std::chrono::milliseconds(0)).has_value(); }

  // Waits for the end, at most this long. Exit code, or 128 + signal as in a shell.
  std::optional<int> Wait(std::chrono::milliseconds timeout);

  // Each but Signal() returns when it is done: after Kill9() the child is gone, after Pause() its
  // threads stand still.
  void Signal(int number);
  void Kill9();
  void Pause();     // SIGSTOP: it keeps its connections and says nothing
  void Continue();  // SIGCONT

  // Asks by SIGTERM, waits, and kills when patience ends. The result is as in Wait().
  int Terminate(std::chrono::milliseconds patience);

  // Resident memory now, in kB; 0 when it is gone.
  long ResidentKb() const;

 private:
  int Reap();

  pid_t pid_ = -1;
  int pid_fd_ = -1;
  std::optional<int> exit_;
};

}  // namespace oncemq::testing
