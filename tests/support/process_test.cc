// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "eventually.h"
#include "loopback_port.h"
#include "temp_dir.h"

namespace oncemq::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string Read(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

char StateOf(pid_t pid) {
  const std::string line = Read("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t end = line.rfind(')');
  return end == std::string::npos ? '-' : line[end + 2];
}

TEST(Process, OutputAndExitCodeAreKept) {
  TempDir dir;
  const auto log = dir.path() / "log";
  Process child({.command = {"sh", "-c", "echo out $WORD; echo err >&2; exit 7"},
                 .environment = {{"WORD", "said"}},
                 .log_file = log});
  EXPECT_EQ(child.Wait(seconds(20)), 7);
  EXPECT_EQ(Read(log), "out said\nerr\n");
  EXPECT_FALSE(child.Running());
}

TEST(Process, AProgramThatIsNotThereIsAnErrorAtOnce) {
  EXPECT_THROW(Process({.command = {"no-such-program-here"}}), std::runtime_error);
}

TEST(Process, WaitEndsWithItsTimeWhileTheChildRuns) {
  Process child({.command = {"sleep", "1000"}});
  EXPECT_EQ(child.Wait(milliseconds(1)), std::nullopt);
  EXPECT_TRUE(child.Running());
  child.Kill9();
  EXPECT_EQ(child.Wait(milliseconds(0)), 128 + SIGKILL);
}

TEST(Process, TerminateAsksAndThenKillsAChildThatDoesNotListen) {
  TempDir dir;
  const auto log = dir.path() / "log";
  Process child({.command = {"sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done"},
                 .environment = {},
                 .log_file = log});
  ASSERT_TRUE(Eventually(seconds(20), [&] { return Read(log) == "deaf\n"; }));
  EXPECT_EQ(child.Terminate(milliseconds(50)), 128 + SIGKILL);
}

TEST(Process, TerminateReachesAPausedChild) {
  Process child({.command = {"sleep", "1000"}});
  child.Pause();
  EXPECT_EQ(child.Terminate(seconds(20)), 128 + SIGTERM);
}

TEST(Process, PauseReturnsWhenTheChildStandsStill) {
  Process child({.command = {"sleep", "1000"}});
  child.Pause();
  EXPECT_EQ(StateOf(child.pid()), 'T');
  child.Continue();
  EXPECT_TRUE(Eventually(seconds(20), [&] { return StateOf(child.pid()) == 'S'; }));
}

TEST(Process, NothingOutlivesAProcessThatDies) {
  TempDir dir;
  const auto file = dir.path() / "pid";
  // The middle process is our victim: it starts a child of its own through Process and is killed.
  const pid_t middle = fork();
  if (middle == 0) {
    Process child({.command = {"sleep", "1000"}});
    std::ofstream(file) << child.pid() << std::endl;
    pause();
    _exit(0);
  }
  pid_t grandchild = 0;
  const bool started = Eventually(
      seconds(20), [&] { return (std::ifstream(file) >> grandchild) && grandchild > 0; });
  kill(middle, SIGKILL);
  waitpid(middle, nullptr, 0);
  ASSERT_TRUE(started);
  // Gone, or waiting for the machine's first process to collect it.
  EXPECT_TRUE(Eventually(seconds(20), [&] {
    const char state = StateOf(grandchild);
    return state == '-' || state == 'Z' || state == 'X';
  }));
}

TEST(LoopbackPort, AServerCanTakeItAgainAndAgainWhileItIsHeld) {
  LoopbackPort port;
  for (int round = 0; round < 3; ++round) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port.number());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(fd, 1), 0);
    close(fd);
  }
}

TEST(LoopbackPort, NobodyElseIsGivenIt) {
  LoopbackPort held;
  for (int i = 0; i < 200; ++i) {
    EXPECT_NE(LoopbackPort().number(), held.number());
  }
}

TEST(TempDir, GoesWithEverythingInIt) {
  std::filesystem::path path;
  {
    TempDir dir;
    path = dir.path();
    std::filesystem::create_directories(path / "a" / "b");
    std::ofstream(path / "a" / "b" / "file") << "text";
    EXPECT_TRUE(std::filesystem::exists(path / "a" / "b" / "file"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace oncemq::testing
