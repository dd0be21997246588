// SPDX-License-Identifier: Apache-2.0
// The workers as child processes: starts them, listens to their reports, asks them to stop. A
// worker is signalled by its own process id only, and killed when its owner goes.
//
// Thread safety: the main thread; workers end when the thread that started them does.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "report_line.h"
#include "worker.h"

namespace oncemq::demo {

class WorkerProcess {
 public:
  // Its standard error, with its log, goes to `log`.
  static Result<std::unique_ptr<WorkerProcess>> Start(const WorkerOptions& options,
                                                      const std::filesystem::path& log);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  const std::string& name() const { return name_; }
  const WorkerReport& report() const { return report_; }
  bool running() const { return pipe_ >= 0; }
  bool stopping() const { return stop_requested_at_.has_value(); }
  std::optional<BootTime> stop_requested_at() const { return stop_requested_at_; }
  int pipe() const { return pipe_; }
  pid_t pid() const { return pid_; }

  void RequestStop();
  // Its next handler stands still; report().inside says in which payment.
  void RequestStandstill();
  // SIGKILL. Its last report stays as it is.
  void Kill();
  bool killed() const { return killed_; }
  // How many reports in a row said the same of what is finished and committed.
  int steady() const { return steady_; }
  // Somebody else has stopped it (SIGSTOP), and it has not gone on.
  bool halted() const { return halted_since_.has_value(); }
  // "was stopped from outside (SIGSTOP) for 20 s"; empty: it never was.
  std::string HaltsSoFar() const;
  // Takes what the pipe holds, without waiting, and notes whether the process is stopped. At its
  // end the process is taken leave of.
  void Read();

 private:
  WorkerProcess(std::string name, pid_t pid, int pipe)
      : name_(std::move(name)), pid_(pid), pipe_(pipe) {}
  void Take(WorkerReport report);
  void NoteHalts();
  void End();

  const std::string name_;
  pid_t pid_;
  int pipe_;
  std::string partial_;  // the beginning of a line
  WorkerReport report_;
  int steady_ = 0;
  std::optional<BootTime> stop_requested_at_;
  std::optional<BootTime> halted_since_;
  microseconds halted_for_{0};  // before that
  bool killed_ = false;
};

}  // namespace oncemq::demo
