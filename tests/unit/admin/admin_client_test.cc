// SPDX-License-Identifier: Apache-2.0
#include "admin_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "server_fixture.h"
#include "socket_trust.h"
#include "unix_socket.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;

constexpr milliseconds kPatience{20'000};

class AdminClientTest : public HttpServerTest {
 protected:
  Error Fails(milliseconds within = kPatience) const {
    const auto answer = QueryAdmin(path_, {.command = "echo"}, within);
    return answer ? Error{Code::kInternal, Effect::kNone, "it was answered"} : answer.error();
  }
  // Says these bytes to one client, whatever it asks, and closes.
  std::jthread Impostor(const std::string& says, AdminListener& listener) const {
    return std::jthread([says, fd = listener.fd()] {
      pollfd waited{fd, POLLIN, 0};
      poll(&waited, 1, 20'000);
      const OwnedFd client(accept4(fd, nullptr, nullptr, SOCK_CLOEXEC));
      for (size_t at = 0; at < says.size();) {
        const ssize_t sent = send(client.get(), &says[at], says.size() - at, MSG_NOSIGNAL);
        if (sent < 0) {
          return;  // it has heard enough
        }
        at += static_cast<size_t>(sent);
      }
      shutdown(client.get(), SHUT_WR);
      char bytes[4096];
      while (recv(client.get(), bytes, sizeof bytes, 0) > 0) {
      }
    });
  }
};

struct stat Folder(uid_t owner, mode_t mode) {
  struct stat folder {};
  folder.st_uid = owner;
  folder.st_mode = S_IFDIR | mode;
  return folder;
}

TEST(SocketTrust, AServerIsOurselvesOrRootAndForRootWhoHasTheDirectoryAlone) {
  constexpr uid_t kUs = 1000;
  constexpr uid_t kOther = 1001;
  EXPECT_TRUE(MayTrust(kUs, kUs, Folder(kOther, 0777)));
  EXPECT_TRUE(MayTrust(0, kUs, Folder(kOther, 0777)));
  EXPECT_FALSE(MayTrust(kOther, kUs, Folder(kOther, 0700))) << "we are not asked to trust him";
  EXPECT_TRUE(MayTrust(kOther, 0, Folder(kOther, 0755)));
  EXPECT_FALSE(MayTrust(kOther, 0, Folder(kOther, 0775))) << "or somebody of his group";
  EXPECT_FALSE(MayTrust(kOther, 0, Folder(kUs, 0755))) << "another service's directory";
  EXPECT_FALSE(MayTrust(kOther, 0, Folder(0, 01777))) << "anybody may have put it there";
}

TEST(SocketTrust, ADirectoryIsSafeWhereOnlyWeAndRootMayReplaceAName) {
  constexpr uid_t kUs = 1000;
  EXPECT_FALSE(OthersMayReplaceIn(Folder(kUs, 0755), kUs));
  EXPECT_FALSE(OthersMayReplaceIn(Folder(0, 0755), kUs));
  EXPECT_FALSE(OthersMayReplaceIn(Folder(0, 01777), kUs));
  EXPECT_TRUE(OthersMayReplaceIn(Folder(0, 0777), kUs));
  EXPECT_TRUE(OthersMayReplaceIn(Folder(kUs, 0770), kUs));
  EXPECT_TRUE(OthersMayReplaceIn(Folder(1001, 0755), kUs)) << "it is his";
  EXPECT_TRUE(OthersMayReplaceIn(Folder(1001, 01777), kUs));
}

TEST_F(AdminClientTest, AStrangerWhoServesThereIsNotBelieved) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can be somebody else for a moment";
  }
  constexpr uid_t kStranger = 65534;
  ASSERT_EQ(chmod(dir_.path().c_str(), 0777), 0);
  OwnedFd fd = NewUnixSocket();
  std::thread([&] {  // of this thread alone, by the system's call
    ASSERT_EQ(syscall(SYS_setresuid, -1, kStranger, -1), 0);
    const sockaddr_un address = UnixAddress(path_);
    ASSERT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(listen(fd.get(), 1), 0);
  })
      .join();
  const Error error = Fails();
  EXPECT_EQ(error.code, Code::kInvalid);
  EXPECT_THAT(error.message, HasSubstr("is of user 65534, who is neither you nor root"));
}

TEST_F(AdminClientTest, GivesTheResultOfItsCommand) {
  Start();
  const std::string text("a b/?&=+%\0\xC3\xA4", 12);
  const auto answer = QueryAdmin(path_, {"echo", {{"text", text}, {"number", 5}}}, kPatience);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ((*answer)["text"], text);
  EXPECT_EQ((*answer)["number"], "5");
}

TEST_F(AdminClientTest, ARefusalIsItsErrorWord) {
  Start();
  const auto answer = QueryAdmin(path_, {.command = "jump"}, kPatience);
  EXPECT_EQ(answer.error().code, Code::kNotFound);
  EXPECT_EQ(answer.error().message, "this service knows no command \"jump\"");
}

TEST_F(AdminClientTest, NoSocketADeadOneAndAForeignFileAreToldApart) {
  EXPECT_EQ(Fails().code, Code::kNotFound);
  EXPECT_THAT(Fails().message, HasSubstr("no service runs that offers this socket"));
  {
    const OwnedFd fd = NewUnixSocket();
    const sockaddr_un address = UnixAddress(path_);
    ASSERT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  EXPECT_EQ(Fails().code, Code::kUnavailable);
  EXPECT_THAT(Fails().message, HasSubstr("has died"));
  const auto far = QueryAdmin("/" + std::string(200, 'x'), {.command = "echo"}, milliseconds(1));
  EXPECT_EQ(far.error().code, Code::kInvalid);
}

TEST_F(AdminClientTest, AServiceThatIsSilentIsNotWaitedForBeyondItsTime) {
  const auto listener = AdminListener::Open(path_);
  ASSERT_TRUE(listener);
  EXPECT_EQ(Fails(milliseconds(20)).code, Code::kTimeout);
}

TEST_F(AdminClientTest, ADripOfBytesDoesNotPutTheTimeOff) {
  const auto listener = AdminListener::Open(path_);
  ASSERT_TRUE(listener);
  const std::jthread impostor([fd = (*listener)->fd()] {
    const OwnedFd client(accept4(fd, nullptr, nullptr, SOCK_CLOEXEC));
    while (send(client.get(), "H", 1, MSG_NOSIGNAL) == 1) {
      SleepFor(milliseconds(10));
    }
  });
  EXPECT_EQ(Fails(milliseconds(200)).code, Code::kTimeout);
}

TEST_F(AdminClientTest, WhatIsNoServiceIsNotBelieved) {
  const auto listener = AdminListener::Open(path_);
  ASSERT_TRUE(listener);
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  for (const auto& [says, code] :
       {std::pair(std::string(), Code::kUnavailable),
        std::pair(std::string("HTTP/1.1 400 Bad"), Code::kUnavailable),
        std::pair(ok + "Content-Length: 9\r\n\r\n{}", Code::kUnavailable),
        std::pair(std::string("\0\0\0\x02{}", 6), Code::kCorrupt),
        std::pair("HTTP/1.1 200 " + std::string(100'000, 'x') + "\r\n", Code::kCorrupt),
        std::pair(ok + std::string(100'000, 'x') + "\r\n", Code::kCorrupt),
        std::pair(ok + "\r\n[", Code::kCorrupt),
        std::pair(ok + "\r\n" + std::string(50'000, '['), Code::kCorrupt),
        std::pair(ok + "\r\n\"" + std::string(kMostAdminAnswer, 'x') + "\"", Code::kCorrupt),
        std::pair(std::string("HTTP/1.1 302 Found\r\nLocation: /v1/status\r\n\r\n{}"),
                  Code::kCorrupt)}) {
    const std::jthread impostor = Impostor(says, **listener);
    EXPECT_EQ(Fails().code, code) << says.substr(0, 40);
  }
}

TEST_F(AdminClientTest, ItReadsWhyItWasRefusedThoughNobodyReadsWhatItSays) {
  Start(kPatience, 8, [](uid_t) { return false; });
  for (int i = 0; i < 50; i++) {
    const auto answer =
        QueryAdmin(path_, {"echo", {{"text", std::string(60'000, 'x')}}}, kPatience);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().message, "only the service's own user and root may ask");
  }
}

}  // namespace
}  // namespace oncemq::testing
