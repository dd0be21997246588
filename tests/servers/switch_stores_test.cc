// SPDX-License-Identifier: Apache-2.0
// Where the record of a switchboard is kept, and texts that processes follow: one suite judges
// every place.
#include "oncemq/locks/switch_stores.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "oncemq/base/mutex.h"
#include "oncemq/base/switchboard.h"
#include "oncemq/locks/config_watch.h"
#include "support/eventually.h"
#include "support/tcp_proxy.h"
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

struct Endpoint {
  const char* name;
  std::function<std::optional<std::string>()> missing;
  std::function<std::string()> address;
};

template <class Server>
Endpoint Of(const char* name) {
  return {name, Server::Missing, [] {
            static const auto server = Server::Start();
            return server->url();
          }};
}

std::vector<Endpoint> Endpoints() {
  std::vector<Endpoint> endpoints{{"file", [] { return std::optional<std::string>(); },
                                   [] {
                                     static const TempDir directory;
                                     return "file:" + directory.path().string();
                                   }}};
#ifdef ONCEMQ_WITH_ETCD
  endpoints.push_back(Of<EtcdServer>("etcd"));
#endif
#ifdef ONCEMQ_WITH_ZOOKEEPER
  endpoints.push_back(Of<ZooKeeperServer>("zookeeper"));
#endif
#ifdef ONCEMQ_WITH_POSTGRES
  endpoints.push_back(Of<PostgresServer>("postgres"));
#endif
#ifdef ONCEMQ_WITH_MARIADB
  endpoints.push_back(Of<MariadbServer>("mariadb"));
#endif
  return endpoints;
}

class SwitchStores : public ::testing::TestWithParam<Endpoint> {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_BACKEND(GetParam().missing());
    address_ = GetParam().address();
    // Another one for each test.
    static int names = 0;
    name_ = "board-" + std::to_string(++names);
  }
  std::shared_ptr<SwitchStore> Open() const { return Open(name_); }
  std::shared_ptr<SwitchStore> Open(const std::string& name) const {
    auto store = OpenSwitchStore(address_, name);
    EXPECT_TRUE(store.has_value()) << ToString(store.error());
    return *std::move(store);
  }

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

TEST_P(SwitchStores, TwoNamesInOnePlaceAreApart) {
  // As a catalogue calls them, and as they might be taken for parts of each other.
  const std::vector<std::string> names{name_,           name_ + ".settlement",
                                       name_ + ".word", name_ + ".word.61",
                                       "word." + name_, "record." + name_};
  for (const std::string& name : names) {
    const auto store = Open(name);
    EXPECT_EQ(store->Read()->text, "") << name;
    EXPECT_TRUE(store->Hear()->empty()) << name;
    EXPECT_TRUE(*store->Swap("of " + name, 0)) << name;
    EXPECT_TRUE(store->Say("a", name)) << name;
  }
  for (const std::string& name : names) {
    EXPECT_EQ(Open(name)->Read()->text, "of " + name);
    EXPECT_EQ(*Open(name)->Hear(), (std::map<std::string, std::string>{{"a", name}}));
  }
  ASSERT_TRUE(Open(name_)->Bury("a"));
  EXPECT_EQ(Open(name_ + ".settlement")->Hear()->size(), 1u);
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

TEST_P(SwitchStores, AConfigurationIsFollowedByAllAndReplacedByWhoSawItsLastText) {
  Mutex mutex;
  ConditionVariable told;
  ConfigValue last;
  const auto q = ConfigWatch::Open(address_, name_, {.changed = [&](const ConfigValue& now) {
                                     MutexLock lock(mutex);
                                     last = now;
                                     told.notify_all();
                                   }});
  const auto p = ConfigWatch::Open(address_, name_);
  ASSERT_TRUE(p.has_value() && q.has_value());
  const std::string longest(kLongestConfig, '\xFF');
  uint64_t version = 0;
  for (const std::string& text : {std::string("one\n\0%", 6), longest, std::string("three")}) {
    EXPECT_TRUE(*(*p)->Set(text, version));
    version = (*p)->Now().value.version;
    MutexLock lock(mutex);
    told.wait(mutex, [&] { return last.text == text; });
    EXPECT_EQ((*q)->Now().value, last);
  }
  EXPECT_FALSE(*(*q)->Set("four", 0));
  EXPECT_EQ((*q)->Now().value.text, "three");
}

TEST_P(SwitchStores, AConfigurationIsFollowedAgainWhenItsPlaceIsReachedAgain) {
  const size_t colon = address_.rfind("127.0.0.1:");
  if (colon == std::string::npos) {
    return;  // no network leads to a directory
  }
  const size_t port = colon + std::string_view("127.0.0.1:").size();
  size_t end = port;
  TcpProxy network(static_cast<uint16_t>(std::stoi(address_.substr(port), &end)));
  const std::string by_network =
      std::string(address_).replace(port, end, std::to_string(network.port()));
  const auto p = ConfigWatch::Open(address_, name_);
  const auto q = ConfigWatch::Open(by_network, name_, {.read_every = milliseconds(1'000)});
  ASSERT_TRUE(p.has_value() && q.has_value());
  ASSERT_TRUE(*(*p)->Set("one", 0));
  const std::chrono::seconds a_minute(60);
  ASSERT_TRUE(Eventually(a_minute, [&] { return (*q)->Now().value.text == "one"; }));
  network.Set(TcpProxy::Mode::kSilent);
  ASSERT_TRUE(Eventually(a_minute, [&] { return (*q)->Now().blind; }));
  const BootTime blind_since = (*q)->Now().as_of;
  ASSERT_TRUE(*(*p)->Set("two", (*p)->Now().value.version));
  EXPECT_EQ((*q)->Now().value.text, "one");
  EXPECT_EQ((*q)->Now().as_of, blind_since);
  network.Cut();
  network.Set(TcpProxy::Mode::kPass);
  EXPECT_TRUE(Eventually(a_minute, [&] { return (*q)->Now().value.text == "two"; }));
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

INSTANTIATE_TEST_SUITE_P(In, SwitchStores, ::testing::ValuesIn(Endpoints()),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace oncemq::testing
