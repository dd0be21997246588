// SPDX-License-Identifier: Apache-2.0
// Where the record of a switchboard is kept: one suite judges every place.
#include "oncemq/locks/switch_stores.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "oncemq/base/mutex.h"
#include "oncemq/base/switchboard.h"
#include "support/temp_dir.h"
#ifdef ONCEMQ_WITH_ETCD
#include "support/etcd_server.h"
#endif
#ifdef ONCEMQ_WITH_MARIADB
#include "support/mariadb_server.h"
#endif
#ifdef ONCEMQ_WITH_POSTGRES
#include "support/postgres_server.h"
#endif
#include "support/require_backend.h"
#ifdef ONCEMQ_WITH_ZOOKEEPER
#include "support/zookeeper_server.h"
#endif

namespace oncemq::testing {
namespace {

struct Place {
  const char* name;
  std::function<std::optional<std::string>()> missing;
  std::function<std::string()> address;
};

template <class Server>
Place Of(const char* name) {
  return {name, Server::Missing, [] {
            static const auto server = Server::Start();
            return server->url();
          }};
}

std::vector<Place> Places() {
  std::vector<Place> places{{"file", [] { return std::optional<std::string>(); },
                             [] {
                               static const TempDir directory;
                               return "file:" + directory.path().string();
                             }}};
#ifdef ONCEMQ_WITH_ETCD
  places.push_back(Of<EtcdServer>("etcd"));
#endif
#ifdef ONCEMQ_WITH_ZOOKEEPER
  places.push_back(Of<ZooKeeperServer>("zookeeper"));
#endif
#ifdef ONCEMQ_WITH_POSTGRES
  places.push_back(Of<PostgresServer>("postgres"));
#endif
#ifdef ONCEMQ_WITH_MARIADB
  places.push_back(Of<MariadbServer>("mariadb"));
#endif
  return places;
}

class SwitchStores : public ::testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_BACKEND(GetParam().missing());
    address_ = GetParam().address();
    // Another one for each test; a file has one for each directory.
    static int names = 0;
    if (GetParam().name == std::string_view("file")) {
      address_ = "file:" + directory_.path().string();
    }
    name_ = "board-" + std::to_string(++names);
  }
  std::shared_ptr<SwitchStore> Open() const {
    auto store = OpenSwitchStore(address_, name_);
    EXPECT_TRUE(store.has_value()) << ToString(store.error());
    return *std::move(store);
  }

  const TempDir directory_;
  std::string address_;
  std::string name_;
};

TEST_P(SwitchStores, WhatWasSwappedIsReadByAll) {
  const auto p = Open();
  const auto q = Open();
  ASSERT_TRUE(p->Read().has_value());
  EXPECT_EQ(p->Read()->text, "");
  EXPECT_EQ(p->Read()->version, 0u);
  const std::string bytes("one\nline\0\xFF'; --", 14);
  EXPECT_TRUE(*p->Swap(bytes, 0));
  EXPECT_EQ(q->Read()->text, bytes);
  EXPECT_FALSE(*q->Swap("two", 0)) << "another version";
  EXPECT_FALSE(*q->Swap("two", q->Read()->version + 1));
  EXPECT_TRUE(*q->Swap("two", q->Read()->version));
  EXPECT_EQ(p->Read()->text, "two");
}

TEST_P(SwitchStores, OfManyWhoSwapAtATimeOneGoesFirst) {
  constexpr int kEach = 20;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([&] {
      const auto store = Open();
      for (int done = 0; done < kEach;) {
        const auto read = store->Read();
        if (const auto swapped =
                read ? store->Swap(read->text + "x", read->version) : Result<bool>(read.error())) {
          done += *swapped ? 1 : 0;
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(Open()->Read()->text, std::string(4 * kEach, 'x'));
}

TEST_P(SwitchStores, WordsAreKeptUntilTheyAreBuried) {
  const auto store = Open();
  const std::string strange("../x\0\n%", 7);
  ASSERT_TRUE(store->Say("p", "1"));
  ASSERT_TRUE(store->Say(strange, "2"));
  ASSERT_TRUE(store->Say("p", "3"));
  EXPECT_EQ(*Open()->Hear(), (std::map<std::string, std::string>{{"p", "3"}, {strange, "2"}}));
  ASSERT_TRUE(store->Bury("p"));
  ASSERT_TRUE(store->Bury("p"));
  EXPECT_EQ(Open()->Hear()->size(), 1u);
}

TEST_P(SwitchStores, AwaitEndsWithAChangeAndWithAStop) {
  const auto store = Open();
  const BootTime never = SystemClock::Instance().Boot() + std::chrono::hours(1);
  ASSERT_TRUE(*store->Swap("one", 0));
  const uint64_t version = store->Read()->version;
  std::jthread later([&] { EXPECT_TRUE(*Open()->Swap("two", version)); });
  EXPECT_TRUE(store->Await(version, never, {}));
  later.join();
  EXPECT_TRUE(store->Await(version, never, {})) << "it has changed already";
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_TRUE(store->Await(store->Read()->version, never, stop.get_token()));
}

TEST_P(SwitchStores, SwitchboardsOfTwoProcessesAgree) {
  SwitchboardOptions options;
  options.stores = {"a", "b"};
  options.automatic = false;
  options.config_lease = milliseconds(2'000);
  options.longest = milliseconds(100);
  const auto p = Switchboard::Open(Open(), options);
  const auto q = Switchboard::Open(Open(), options);
  ASSERT_TRUE(p.has_value() && q.has_value());
  ASSERT_TRUE((*p)->Begin("b", SwitchMode::kBoth, "an upgrade").has_value());
  const BootTime give_up = SystemClock::Instance().Boot() + std::chrono::seconds(60);
  for (;;) {
    const std::stop_token changed = (*q)->changed();
    const auto record = (*q)->InForce();
    if (record && record->from == "b") {
      break;
    }
    ASSERT_LT(SystemClock::Instance().Boot(), give_up);
    ::oncemq::Mutex mutex;
    ::oncemq::ConditionVariable never;
    ::oncemq::MutexLock lock(mutex);
    never.wait_for(mutex, changed, std::chrono::seconds(1), [] { return false; });
  }
}

TEST(SwitchStoreAddresses, WhatNobodyKnowsIsRefusedAndPasswordsAreNotRepeated) {
  for (const char* address : {"", "x", "file:", "file:/nowhere/at/all", "redis://h",
                              "etcd://u:hunter2@", "postgres://u:hunter2@h:x/d"}) {
    const auto store = OpenSwitchStore(address);
    ASSERT_FALSE(store.has_value()) << address;
    EXPECT_EQ(store.error().code, Code::kInvalid) << address;
    EXPECT_EQ(ToString(store.error()).find("hunter2"), std::string::npos);
  }
  EXPECT_EQ(OpenSwitchStore("file:/tmp", "Not A Name").error().code, Code::kInvalid);
}

INSTANTIATE_TEST_SUITE_P(In, SwitchStores, ::testing::ValuesIn(Places()),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace oncemq::testing
