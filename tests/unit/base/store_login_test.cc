// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/store_login.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace oncemq {
namespace {

using std::chrono::seconds;

struct Endpoint {
  std::string server = "db1";
  std::string user = "app";
  std::string password = "old";
  ReadLogin read_login = {};
};

std::string ToString(const Endpoint& endpoint) {
  return "store://" + endpoint.server;
}

Result<Endpoint> ParseEndpoint(std::string_view text) {
  if (text.empty()) {
    return Error{Code::kInvalid, Effect::kNone, "an empty address"};
  }
  const size_t at = text.find('@');
  return Endpoint{.server = std::string(text.substr(at + 1)),
                  .password = std::string(text.substr(0, at))};
}

Error Refused() {
  return {Code::kRefused, Effect::kNone, "wrong password"};
}

class StoreLoginTest : public ::testing::Test {
 protected:
  // The server knows one password.
  Result<int> Enter(StoreLogin& login) {
    return login.Enter(endpoint_, BootNow() + seconds(20),
                       [this](const Endpoint& as) -> Result<int> {
                         tried_.push_back(as.password);
                         if (down_) {
                           return Error{Code::kUnavailable, Effect::kNone, "no answer"};
                         }
                         return as.password == right_ ? Result<int>(1) : Refused();
                       });
  }
  StoreLogin Login(ReadLogin read = {}) {
    return StoreLogin("store://db1", {"app", "old"}, std::move(read), clock_);
  }
  // When it was tried, in tenths of a second, while it is wanted ten times a second.
  std::vector<int> Tries(StoreLogin& login, int tenths) {
    std::vector<int> at;
    for (int i = 0; i < tenths; i++) {
      const size_t before = tried_.size();
      static_cast<void>(Enter(login));
      if (tried_.size() > before) {
        at.push_back(i);
      }
      clock_.Advance(milliseconds(100));
    }
    return at;
  }

  ManualClock clock_;
  Endpoint endpoint_;
  std::string right_ = "new";
  bool down_ = false;
  std::vector<std::string> tried_;
};

TEST_F(StoreLoginTest, ARefusedLoginIsRepeatedInGrowingPauses) {
  StoreLogin login = Login();
  const std::vector<int> at = Tries(login, 1'300);
  EXPECT_EQ(at, (std::vector<int>{0, 10, 30, 70, 150, 310, 610, 910, 1'210}));
}

TEST_F(StoreLoginTest, CallsInBetweenGetTheRefusalOfTheServer) {
  StoreLogin login = Login();
  for (int i = 0; i < 5; i++) {
    const auto refused = Enter(login);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Code::kRefused);
    EXPECT_EQ(refused.error().message, "wrong password");
  }
  EXPECT_EQ(tried_.size(), 1u);
}

TEST_F(StoreLoginTest, ASuccessEndsTheBackoff) {
  StoreLogin login = Login();
  Tries(login, 40);
  right_ = "old";
  clock_.Advance(seconds(4));
  EXPECT_TRUE(Enter(login));
  EXPECT_TRUE(Enter(login));
  right_ = "new";
  EXPECT_EQ(Tries(login, 40), (std::vector<int>{0, 10, 30}));
}

TEST_F(StoreLoginTest, AServerThatDoesNotAnswerIsAskedByEachCall) {
  StoreLogin login = Login();
  down_ = true;
  EXPECT_EQ(Tries(login, 10).size(), 10u);
}

TEST_F(StoreLoginTest, AnOutageBetweenTwoRefusalsDoesNotShortenThePauses) {
  StoreLogin login = Login();
  EXPECT_EQ(Tries(login, 31), (std::vector<int>{0, 10, 30}));
  down_ = true;
  clock_.Advance(seconds(4));
  EXPECT_EQ(Tries(login, 5).size(), 5u);
  down_ = false;
  EXPECT_EQ(Tries(login, 90), (std::vector<int>{0, 80}));
}

TEST_F(StoreLoginTest, ANewPasswordThatIsThereAlreadyIsTriedByTheSameCall) {
  StoreLogin login = Login([] { return Result<UserAndPassword>({"app", "new"}); });
  EXPECT_TRUE(Enter(login));
  EXPECT_EQ(tried_, (std::vector<std::string>{"old", "new"}));
  EXPECT_TRUE(Enter(login));
  EXPECT_EQ(tried_.back(), "new") << "it stays";
}

TEST_F(StoreLoginTest, ANewPasswordIsTriedWithoutWaitingForThePause) {
  std::string file = "old";
  int reads = 0;
  StoreLogin login = Login([&] {
    reads++;
    return Result<UserAndPassword>({"app", file});
  });
  Tries(login, 200);  // the next one follows after 31 s
  EXPECT_LE(reads, 21) << "once a second";
  EXPECT_GE(reads, 18);
  tried_.clear();
  file = "new";
  clock_.Advance(seconds(1));
  EXPECT_TRUE(Enter(login));
  EXPECT_EQ(tried_, (std::vector<std::string>{"new"}));
}

TEST_F(StoreLoginTest, AnotherWrongPasswordIsBackedOffFromLikeTheFirst) {
  std::string file = "old";
  StoreLogin login = Login([&] { return Result<UserAndPassword>({"app", file}); });
  Tries(login, 200);
  file = "wrong, too";
  clock_.Advance(seconds(1));
  EXPECT_EQ(Tries(login, 40), (std::vector<int>{0, 10, 30}));
}

TEST_F(StoreLoginTest, AFileThatCannotBeReadChangesNothing) {
  StoreLogin login = Login([]() -> Result<UserAndPassword> {
    return Error{Code::kInvalid, Effect::kNone, "mode"};
  });
  EXPECT_EQ(Tries(login, 40), (std::vector<int>{0, 10, 30}));
}

TEST_F(StoreLoginTest, ManyConnectionsCostOneRefusal) {
  constexpr int kMany = 16;
  StoreLogin login = Login();
  std::atomic<int> come = 0;
  std::atomic<int> tried = 0;
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kMany; i++) {
      threads.emplace_back([&] {
        come++;
        const auto connection =
            login.Enter(endpoint_, BootNow() + seconds(60), [&](const Endpoint&) -> Result<int> {
              tried++;
              while (come < kMany) {
                std::this_thread::yield();
              }
              return Refused();
            });
        refused += !connection && connection.error().code == Code::kRefused ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(tried, 1);
  EXPECT_EQ(refused, kMany);
}

// A slow login must not make a queue of them.
TEST_F(StoreLoginTest, ConnectionsThatWaitedForASuccessLogInTogether) {
  StoreLogin login("store://db1", {"app", "old"}, {});
  std::atomic<int> under_way = 0;
  std::atomic<bool> together = false;
  for (int round = 0; round < 100 && !together; round++) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; i++) {
      threads.emplace_back([&] {
        EXPECT_TRUE(
            login.Enter(endpoint_, BootNow() + seconds(60), [&](const Endpoint&) -> Result<int> {
              under_way++;
              SleepFor(milliseconds(20));
              together = together || under_way > 1;
              under_way--;
              return 1;
            }));
      });
    }
  }
  EXPECT_TRUE(together);
}

TEST_F(StoreLoginTest, AConnectionWaitsForAnotherLoginNoLongerThanItMay) {
  StoreLogin login("store://db1", {"app", "old"}, {});
  std::atomic<bool> begun = false;
  std::atomic<bool> goes_on = false;
  std::jthread slow([&] {
    EXPECT_TRUE(
        login.Enter(endpoint_, BootNow() + seconds(60), [&](const Endpoint&) -> Result<int> {
          begun = true;
          while (!goes_on) {
            std::this_thread::yield();
          }
          return 1;
        }));
  });
  while (!begun) {
    std::this_thread::yield();
  }
  const auto late = login.Enter(endpoint_, BootNow() + milliseconds(20),
                                [](const Endpoint&) { return Result<int>(2); });
  goes_on = true;
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, Code::kTimeout);
  EXPECT_EQ(late.error().effect, Effect::kNone);
}

TEST_F(StoreLoginTest, TheProcessKeepsARefusalForTheNextClientOfTheSameLogin) {
  endpoint_.server = "of-this-test";
  const std::string told = "store://of-this-test refuses the login: wrong password";
  const auto reported_now = [&] {
    const std::vector<std::string> all = StoreLogin::Refusals();
    return std::count(all.begin(), all.end(), told);
  };
  EXPECT_FALSE(Enter(*StoreLogin::Of(endpoint_)));
  EXPECT_FALSE(Enter(*StoreLogin::Of(endpoint_)));
  EXPECT_EQ(tried_.size(), 1u);
  EXPECT_EQ(reported_now(), 1);
  Endpoint other = endpoint_;
  other.password = "new";
  EXPECT_NE(StoreLogin::Of(other), StoreLogin::Of(endpoint_)) << "it was never tried";
  other.password = "old";
  other.read_login = [] { return Result<UserAndPassword>({"app", "new"}); };
  EXPECT_TRUE(Enter(*StoreLogin::Of(other))) << "now it can be read";
  EXPECT_EQ(reported_now(), 0);
}

TEST_F(StoreLoginTest, AnAddressThatIsReadAgainGivesUserAndPasswordOfTheSameServer) {
  std::string file = "one@db1";
  const ReadAddress read = [&file]() -> Result<std::string> {
    return file == "gone" ? Result<std::string>(Error{Code::kInvalid, Effect::kNone, "no file"})
                          : file;
  };
  const auto endpoint = ParseReadable("old@db1", read, ParseEndpoint);
  ASSERT_TRUE(endpoint);
  EXPECT_EQ(endpoint->password, "old");
  EXPECT_EQ(*endpoint->read_login(), (UserAndPassword{"app", "one"}));
  for (const auto& [wrong, why] : {std::pair("one@db2", "another server"), std::pair("", "empty"),
                                   std::pair("gone", "no file")}) {
    file = wrong;
    const auto refused = endpoint->read_login();
    ASSERT_FALSE(refused) << wrong;
    EXPECT_NE(refused.error().message.find(why), std::string::npos) << refused.error().message;
  }
  EXPECT_FALSE(ParseReadable("old@db1", {}, ParseEndpoint)->read_login);
  EXPECT_FALSE(ParseReadable("", read, ParseEndpoint));
}

}  // namespace
}  // namespace oncemq
