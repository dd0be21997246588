// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace oncemq::testing {
namespace {

// What the child needs, laid out before fork(): after it, in a program with threads, even an
// allocation can block for ever.
struct Prepared {
  std::vector<std::string> environment;
  std::vector<char*> argv;
  std::vector<char*> envp;
  int null_fd = -1;
  int log_fd = -1;
  int report_fd = -1;
  pid_t parent = 0;
};

[[noreturn]] void RunChild(const Prepared& prepared) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the line above was in force.
  if (getppid() == prepared.parent && dup2(prepared.null_fd, 0) >= 0 &&
      dup2(prepared.log_fd, 1) >= 0 && dup2(prepared.log_fd, 2) >= 0) {
    // Nothing of ours is inherited: a held socket of the test would keep a port busy.
    close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    execvpe(prepared.argv[0], prepared.argv.data(), prepared.envp.data());
  }
  const int why = errno;
  // Nobody is left to be told when this fails.
  [[maybe_unused]] const ssize_t told = write(prepared.report_fd, &why, sizeof(why));
  _exit(127);
}

void MergeEnvironment(const ProcessOptions& options, Prepared& prepared) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string line = *entry;
    if (options.environment.count(line.substr(0, line.find('='))) == 0) {
      prepared.environment.push_back(line);
    }
  }
  for (const auto& [name, value] : options.environment) {
    prepared.environment.push_back(name + "=" + value);
  }
  for (std::string& line : prepared.environment) {
    prepared.envp.push_back(line.data());
  }
  prepared.envp.push_back(nullptr);
}

[[noreturn]] void Fail(const std::string& what, int error) {
  throw std::runtime_error(what + ": " + std::strerror(error));
}

}  // namespace

Process::Process(const ProcessOptions& options) {
  std::vector<std::string> words = options.command;
  Prepared prepared;
  for (std::string& word : words) {
    prepared.argv.push_back(word.data());
  }
  prepared.argv.push_back(nullptr);
  MergeEnvironment(options, prepared);
  prepared.parent = getpid();
  prepared.null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  prepared.log_fd = open(options.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  int report[2] = {-1, -1};
  if (prepared.null_fd < 0 || prepared.log_fd < 0 || pipe2(report, O_CLOEXEC) != 0) {
    Fail("cannot open " + options.log_file.string(), errno);
  }
  prepared.report_fd = report[1];

  pid_ = fork();
  if (pid_ == 0) {
    RunChild(prepared);
  }
  const int fork_error = errno;
  close(prepared.null_fd);
  close(prepared.log_fd);
  close(report[1]);
  // The pipe closes by itself when the program has taken over; else it brings the reason.
  int why = fork_error;
  const bool failed = pid_ < 0 || read(report[0], &why, sizeof(why)) == sizeof(why);
  close(report[0]);
  if (failed) {
    if (pid_ > 0) {
      waitpid(pid_, nullptr, 0);
    }
    Fail("cannot start " + words[0], why);
  }
  pid_fd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (pid_fd_ < 0) {
    const int error = errno;
    Kill9();
    Fail("pidfd_open", error);
  }
}

Process::~Process() {
  Kill9();
  if (pid_fd_ >= 0) {
    close(pid_fd_);
  }
}

int Process::Reap() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  exit_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return *exit_;
}

std::optional<int> Process::Wait(std::chrono::milliseconds timeout) {
  if (!exit_.has_value()) {
    pollfd ended{pid_fd_, POLLIN, 0};
    if (poll(&ended, 1, static_cast<int>(timeout.count())) == 1) {
      Reap();
    }
  }
  return exit_;
}

// The id can't have been given to another process: it is ours until we reap it.
void Process::Signal(int number) {
  if (!exit_.has_value()) {
    kill(pid_, number);
  }
}

void Process::Kill9() {
  Signal(SIGKILL);
  if (!exit_.has_value()) {
    Reap();
  }
}

void Process::Pause() {
  Signal(SIGSTOP);
  if (!exit_.has_value()) {
    siginfo_t ignored{};
    waitid(P_PID, static_cast<id_t>(pid_), &ignored, WSTOPPED | WEXITED | WNOWAIT);
  }
}

void Process::Continue() {
  Signal(SIGCONT);
}

int Process::Terminate(std::chrono::milliseconds patience) {
  Signal(SIGTERM);
  Signal(SIGCONT);  // a paused child would never hear of it
  if (!Wait(patience).has_value()) {
    Kill9();
  }
  return *exit_;
}

long Process::ResidentKb() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  std::string word;
  long value = 0;
  while (!exit_.has_value() && status >> word) {
    if (word == "VmRSS:") {
      status >> value;
      break;
    }
  }
  return value;
}

}  // namespace oncemq::testing
