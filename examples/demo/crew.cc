// SPDX-License-Identifier: Apache-2.0
#include "crew.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

extern char** environ;

namespace oncemq::demo {
namespace {

constexpr char kSelf[] = "/proc/self/exe";

int64_t CommittedBy(const WorkerReport& report) {
  int64_t sum = 0;
  for (const auto& [partition, at] : report.active) {
    sum += at.committed;
  }
  return sum;
}

// What posix_spawn does between fork and exec.
class SpawnPlan {
 public:
  SpawnPlan(int output, const std::filesystem::path& log) {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files_, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files_, STDERR_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawnattr_init(&attributes_);
    // A group of its own: Ctrl-C reaches the parent alone, which then ends its workers.
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    sigset_t usual;  // a worker whose parent is gone ends at its next report
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes_, &usual);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  int Spawn(pid_t& pid, std::vector<std::string>& words) {
    std::vector<char*> arguments;
    for (std::string& word : words) {
      arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    return posix_spawn(&pid, kSelf, &files_, &attributes_, arguments.data(), environ);
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

}  // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(const WorkerOptions& options,
                                                            const std::filesystem::path& log) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error{Code::kUnavailable, Effect::kNone, std::strerror(errno)};
  }
  std::vector<std::string> words = {"demo", "worker"};
  for (std::string& word : ToArguments(options)) {
    words.push_back(std::move(word));
  }
  pid_t pid = -1;
  const int failed = SpawnPlan(ends[1], log).Spawn(pid, words);
  close(ends[1]);
  if (failed != 0) {
    close(ends[0]);
    return Error{Code::kUnavailable, Effect::kNone,
                 "worker " + options.name + ": " + std::strerror(failed)};
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(options.name, pid, ends[0]));
}

WorkerProcess::~WorkerProcess() {
  if (running()) {
    kill(pid_, SIGKILL);
    End();
  }
}

void WorkerProcess::RequestStop() {
  if (running() && !stopping()) {
    stop_requested_at_ = SystemClock::Instance().Boot();
    kill(pid_, SIGTERM);
  }
}

void WorkerProcess::RequestStandstill() {
  if (running()) {
    kill(pid_, SIGUSR1);
  }
}

void WorkerProcess::Kill() {
  if (running()) {
    killed_ = true;
    kill(pid_, SIGKILL);
  }
}

void WorkerProcess::Take(WorkerReport report) {
  const auto finished = [](const WorkerReport& one) {
    return one.counts.deliveries - one.counts.open;
  };
  const bool same = finished(report) == finished(report_) && report.calls == report_.calls &&
                    report.inside == report_.inside && CommittedBy(report) == CommittedBy(report_);
  steady_ = same ? steady_ + 1 : 0;
  report_ = std::move(report);
}

void WorkerProcess::NoteHalts() {
  for (siginfo_t news{};
       waitid(P_PID, static_cast<id_t>(pid_), &news, WSTOPPED | WCONTINUED | WNOHANG) == 0 &&
       news.si_pid == pid_;
       news = {}) {
    const BootTime now = SystemClock::Instance().Boot();
    if (news.si_code == CLD_CONTINUED && halted_since_) {
      halted_for_ += now - *halted_since_;
      halted_since_.reset();
    } else if (news.si_code != CLD_CONTINUED && !halted_since_) {
      halted_since_ = now;
    }
  }
}

std::string WorkerProcess::HaltsSoFar() const {
  microseconds all = halted_for_;
  if (halted_since_) {
    all += SystemClock::Instance().Boot() - *halted_since_;
  } else if (all == microseconds(0)) {
    return "";
  }
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(all).count();
  return std::string(halted_since_ ? "is" : "was") + " stopped from outside (SIGSTOP) for " +
         std::to_string(seconds) + " s";
}

void WorkerProcess::Read() {
  if (running()) {
    NoteHalts();
  }
  std::array<char, 16'384> buffer;
  while (running()) {
    const ssize_t size = read(pipe_, buffer.data(), buffer.size());
    if (size < 0) {
      if (errno == EINTR) {
        continue;
      }
      return;  // nothing there now
    }
    if (size == 0) {
      End();
      return;
    }
    partial_.append(buffer.data(), static_cast<size_t>(size));
    for (size_t end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n')) {
      if (auto report = ParseReportLine(std::string_view(partial_).substr(0, end))) {
        Take(*std::move(report));
      }
      partial_.erase(0, end + 1);
    }
  }
}

void WorkerProcess::End() {
  close(std::exchange(pipe_, -1));
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  if (killed_) {
    return;
  }
  report_.active.clear();
  if (WIFSIGNALED(status) && report_.error.empty()) {
    report_.error = "ended by signal " + std::to_string(WTERMSIG(status));
  }
}

}  // namespace oncemq::demo
