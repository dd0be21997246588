// SPDX-License-Identifier: Apache-2.0
#include "child.h"

#include <fcntl.h>
#include <pwd.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

extern char** environ;

namespace oncemq::demo {
namespace {

constexpr milliseconds kPollInterval{20};

sigset_t Ends() {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    sigaddset(&ends, signal);
  }
  return ends;
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

// setpriv asks for the signal at our death, and becomes the command.
std::vector<std::string> Words(const ChildOptions& options) {
  std::vector<std::string> words{"setpriv", "--pdeathsig", "KILL"};
  const passwd* const nobody = getpwnam("nobody");
  if (options.as_nobody && getuid() == 0 && nobody != nullptr) {
    words.insert(words.end(), {"--reuid=" + std::to_string(nobody->pw_uid),
                               "--regid=" + std::to_string(nobody->pw_gid), "--clear-groups"});
  }
  words.insert(words.end(), options.command.begin(), options.command.end());
  return words;
}

std::vector<std::string> Environment(const ChildOptions& options) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : options.environment) {
    lines.push_back(name + "=" + value);
  }
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string line = *entry;
    const std::string name = line.substr(0, line.find('='));
    if (std::none_of(options.environment.begin(), options.environment.end(),
                     [&](const auto& one) { return one.first == name; })) {
      lines.push_back(line);
    }
  }
  return lines;
}

// For posix_spawn, between fork and exec: quiet input, output into the log, no signal blocked,
// a process group of its own. So Ctrl-C reaches the demo alone, which then ends its children.
class SpawnPlan {
 public:
  explicit SpawnPlan(const std::filesystem::path& log) {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files_, STDOUT_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&files_, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  int Spawn(pid_t& pid, std::vector<std::string> words, std::vector<std::string> environment) {
    return posix_spawnp(&pid, words.front().c_str(), &files_, &attributes_, Pointers(words).data(),
                        Pointers(environment).data());
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

}  // namespace

Result<std::unique_ptr<Child>> Child::Start(const ChildOptions& options) {
  pid_t pid = -1;
  const int failed = SpawnPlan(options.log).Spawn(pid, Words(options), Environment(options));
  if (failed != 0) {
    return Error{Code::kUnavailable, Effect::kNone,
                 "cannot start " + options.command.front() + ": " + std::strerror(failed)};
  }
  return std::unique_ptr<Child>(new Child(pid));
}

Child::~Child() {
  Kill();
}

void Child::Signal(int number) {
  if (!Ended()) {
    kill(pid_, number);
  }
}

void Child::Kill() {
  Signal(SIGKILL);
  while (!ended_) {
    Wait(milliseconds(1'000));
  }
}

std::optional<int> Child::Ended() {
  int status = 0;
  if (!ended_ && waitpid(pid_, &status, WNOHANG) == pid_) {
    ended_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  return ended_;
}

std::optional<int> Child::Wait(milliseconds longest) {
  const BootTime until = BootNow() + longest;
  const timespec turn{.tv_sec = 0, .tv_nsec = kPollInterval.count() * 1'000'000};
  sigset_t none;
  sigemptyset(&none);
  while (!Ended() && BootNow() < until) {
    sigtimedwait(&none, nullptr, &turn);
  }
  return ended_;
}

void BlockEnds() {
  const sigset_t ends = Ends();
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
}

bool PauseOrEnd(milliseconds longest) {
  const sigset_t ends = Ends();
  const timespec pause{.tv_sec = longest.count() / 1'000,
                       .tv_nsec = longest.count() % 1'000 * 1'000'000};
  return sigtimedwait(&ends, nullptr, &pause) > 0;
}

}  // namespace oncemq::demo
