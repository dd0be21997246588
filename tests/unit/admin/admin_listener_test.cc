// SPDX-License-Identifier: Apache-2.0
#include "admin_listener.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "oncemq/framework/admin.h"
#include "support/temp_dir.h"
#include "unix_socket.h"

namespace oncemq {
namespace {

using oncemq::testing::TempDir;
using ::testing::HasSubstr;

class AdminListenerTest : public ::testing::Test {
 protected:
  int Connect() const {
    const OwnedFd fd = NewUnixSocket();
    return ConnectUnix(fd, path_);
  }
  // As a process that was killed leaves it.
  void LeaveADeadSocket() const {
    const OwnedFd fd = NewUnixSocket();
    const sockaddr_un address = UnixAddress(path_);
    ASSERT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  size_t Files() const {
    const std::filesystem::directory_iterator files(dir_.path());
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }
  Error ErrorOf() const {
    auto opened = AdminListener::Open(path_);
    return opened ? Error{Code::kInternal, Effect::kNone, "it was opened"} : opened.error();
  }

  const TempDir dir_;
  const std::string path_ = dir_.path() / "admin.sock";
};

TEST_F(AdminListenerTest, OnlyItsOwnerHasRightsWhateverTheUmaskSays) {
  const mode_t before = umask(0);
  const auto listener = AdminListener::Open(path_);
  umask(before);
  ASSERT_TRUE(listener) << listener.error().message;
  struct stat file {};
  ASSERT_EQ(lstat(path_.c_str(), &file), 0);
  EXPECT_TRUE(S_ISSOCK(file.st_mode));
  EXPECT_EQ(file.st_mode & 07777, 0600u);
  EXPECT_EQ(Connect(), 0);
  EXPECT_EQ(Files(), 1u) << "nothing is left of its birth";
}

TEST_F(AdminListenerTest, ADirectoryThatOthersMayWriteToIsRefused) {
  for (const mode_t mode : {0777u, 0775u, 0757u, 0722u}) {
    ASSERT_EQ(chmod(dir_.path().c_str(), mode), 0);
    EXPECT_THAT(ErrorOf().message, HasSubstr("lies in a directory that others may write to ("))
        << mode;
    EXPECT_EQ(ErrorOf().code, Code::kInvalid);
    EXPECT_EQ(Files(), 0u);
  }
  for (const mode_t mode : {0755u, 0700u, 01777u}) {
    ASSERT_EQ(chmod(dir_.path().c_str(), mode), 0);
    EXPECT_TRUE(AdminListener::Open(path_)) << mode;
  }
}

TEST_F(AdminListenerTest, ADirectoryThatIsMissingIsMadeForTheOwnerAlone) {
  const auto folder = dir_.path() / "own";
  ASSERT_TRUE(AdminListener::Open(folder / "admin.sock"));
  EXPECT_EQ(std::filesystem::status(folder).permissions(), std::filesystem::perms::owner_all);
  EXPECT_FALSE(AdminListener::Open(dir_.path() / "no" / "where" / "admin.sock"))
      << "of folders further up nobody asked";
}

TEST_F(AdminListenerTest, AUmaskThatTakesTheOwnersRightsTooIsToldAndNothingStays) {
  const mode_t before = umask(0777);
  const Error error = ErrorOf();
  umask(before);
  EXPECT_EQ(error.code, Code::kInvalid);
  EXPECT_THAT(error.message, HasSubstr("does not get the rights of 0600"));
  EXPECT_EQ(Files(), 0u);
}

TEST_F(AdminListenerTest, ItsFileGoesWithIt) {
  { ASSERT_TRUE(AdminListener::Open(path_)); }
  EXPECT_EQ(Files(), 0u);
}

TEST_F(AdminListenerTest, TheSocketOfADeadProcessIsReplaced) {
  LeaveADeadSocket();
  EXPECT_EQ(Connect(), ECONNREFUSED);
  const auto listener = AdminListener::Open(path_);
  ASSERT_TRUE(listener) << listener.error().message;
  EXPECT_EQ(Connect(), 0);
  EXPECT_EQ(Files(), 1u);
}

TEST_F(AdminListenerTest, ALiveOneIsNeverReplaced) {
  const auto first = AdminListener::Open(path_);
  ASSERT_TRUE(first);
  const Error error = ErrorOf();
  EXPECT_EQ(error.code, Code::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("another process answers there"));
  EXPECT_EQ(Connect(), 0);
  EXPECT_EQ(Files(), 1u);
}

TEST_F(AdminListenerTest, OneWhoseQueueIsFullLivesToo) {
  const auto first = AdminListener::Open(path_);
  ASSERT_TRUE(first);
  std::vector<OwnedFd> waiting;
  int failed = 0;
  while (failed == 0 && waiting.size() < 10'000) {
    waiting.push_back(NewUnixSocket());
    failed = ConnectUnix(waiting.back(), path_);
  }
  ASSERT_EQ(failed, EAGAIN);
  EXPECT_EQ(ErrorOf().code, Code::kUnavailable);
}

TEST_F(AdminListenerTest, AFileThatIsNoSocketStays) {
  std::ofstream(path_) << "payments";
  const Error error = ErrorOf();
  EXPECT_EQ(error.code, Code::kInvalid);
  EXPECT_THAT(error.message, HasSubstr("a file that is no socket has its name"));
  EXPECT_EQ(std::filesystem::file_size(path_), 8u);
  EXPECT_EQ(Files(), 1u);
}

TEST_F(AdminListenerTest, ALinkIsNotFollowedNotEvenToADeadSocket) {
  const std::string target = dir_.path() / "target";
  {
    const OwnedFd fd = NewUnixSocket();
    const sockaddr_un address = UnixAddress(target);
    ASSERT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  std::filesystem::create_symlink(target, path_);
  EXPECT_EQ(ErrorOf().code, Code::kInvalid);
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_TRUE(std::filesystem::is_socket(target));
  std::filesystem::remove(target);
  EXPECT_EQ(ErrorOf().code, Code::kInvalid) << "nor to nothing";
  EXPECT_FALSE(std::filesystem::exists(target));
  EXPECT_EQ(Files(), 1u);
}

TEST_F(AdminListenerTest, AFileThatTookItsPlaceIsLeftAlone) {
  auto listener = AdminListener::Open(path_);
  ASSERT_TRUE(listener);
  std::filesystem::remove(path_);
  const auto second = AdminListener::Open(path_);
  ASSERT_TRUE(second);
  listener->reset();
  EXPECT_EQ(Connect(), 0) << "the second one's";
  std::filesystem::remove(path_);
  std::ofstream(path_) << "payments";
  auto third = AdminListener::Open(dir_.path() / "third");
  ASSERT_TRUE(third);
  std::filesystem::rename(path_, dir_.path() / "third");
  third->reset();
  EXPECT_TRUE(std::filesystem::is_regular_file(dir_.path() / "third"));
}

TEST_F(AdminListenerTest, OfManyThatOpenOneNameAtOnceExactlyOneHasIt) {
  for (int round = 0; round < 200; round++) {
    LeaveADeadSocket();
    std::atomic<int> opened{0};
    std::vector<Result<std::unique_ptr<AdminListener>>> listeners;
    for (int i = 0; i < 4; i++) {
      listeners.emplace_back(Error{});
    }
    {
      std::vector<std::jthread> threads;
      for (auto& listener : listeners) {
        threads.emplace_back([&] {
          listener = AdminListener::Open(path_);
          opened += listener ? 1 : 0;
        });
      }
    }
    EXPECT_EQ(opened, 1);
    EXPECT_EQ(Connect(), 0);
    EXPECT_EQ(Files(), 1u);
    listeners.clear();
    EXPECT_EQ(Files(), 0u);
  }
}

TEST_F(AdminListenerTest, APathThatNoSocketCanHaveIsToldWithItsLimit) {
  EXPECT_TRUE(CheckAdminSocket(std::string(107, 's')));
  EXPECT_THAT(CheckAdminSocket(std::string(108, 's')).error().message,
              HasSubstr("has 108 bytes; the path of a socket has at most 107"));
  EXPECT_FALSE(CheckAdminSocket(""));
  EXPECT_FALSE(CheckAdminSocket("/run/"));
  EXPECT_FALSE(CheckAdminSocket(std::string("/run/a\0b", 8)));
  const auto opened = AdminListener::Open("/" + std::string(200, 's'));
  EXPECT_EQ(opened.error().code, Code::kInvalid);
}

TEST_F(AdminListenerTest, TheLongestPathsWork) {
  const std::string longest = path_ + std::string(107 - path_.size(), 's');
  const auto listener = AdminListener::Open(longest);
  ASSERT_TRUE(listener) << listener.error().message;
  EXPECT_EQ(ConnectUnix(NewUnixSocket(), longest), 0);
}

TEST_F(AdminListenerTest, ADirectoryThatAnotherProcessHasLockedIsTold) {
  auto listener = AdminListener::Open(path_);
  ASSERT_TRUE(listener);
  const OwnedFd folder(open(dir_.path().c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_EQ(flock(folder.get(), LOCK_EX), 0);
  const auto second = AdminListener::Open(dir_.path() / "second");
  EXPECT_EQ(second.error().code, Code::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr("another process has locked"));
  listener->reset();
  EXPECT_EQ(Files(), 1u) << "a socket that cannot be removed safely stays for the next one";
  EXPECT_EQ(Connect(), ECONNREFUSED);
}

TEST_F(AdminListenerTest, ADirectoryThatIsNotThereIsToldByTheSystemsWords) {
  const auto opened = AdminListener::Open("/no/such/folder/s");
  EXPECT_EQ(opened.error().code, Code::kInvalid);
  EXPECT_THAT(opened.error().message, HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace oncemq
