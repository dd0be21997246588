// SPDX-License-Identifier: Apache-2.0
// `oncemq window stat` and `window show`: of stores that nobody holds, of stores that this process
// holds, and of a service of this process that runs on them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "command_fixture.h"
#include "oncemq/dedup/local_window.h"
#include "oncemq/framework/admin.h"
#include "window_stat_command.h"

namespace oncemq {
namespace {

using oncemq::testing::Command;
using oncemq::testing::ReadAll;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr LogTime kThen{milliseconds(1'600'000'000'000)};

class SilentRuntime final : public Runtime {
 public:
  RunReport Run(std::stop_token) override { return Report(); }
  RunReport Report() const override {
    const std::lock_guard guard(mutex_);
    return report_;
  }
  Result<std::vector<FoundMessage>> FindOpen(std::string_view, milliseconds) const override {
    return std::vector<FoundMessage>{};
  }
  const std::string& guarantee() const override { return line; }
  // From now on; a service is asked on a thread of its own.
  void Have(std::vector<PartitionReport> partitions) {
    const std::lock_guard guard(mutex_);
    report_.partitions = std::move(partitions);
  }
  std::string line = "guarded: once per id";

 private:
  mutable std::mutex mutex_;
  RunReport report_;
};

class WindowStat : public Command {
 protected:
  std::string Stores() const { return dir_.path() / "stores"; }
  std::string Socket() const { return dir_.path() / "admin.sock"; }
  std::string InDirectory() const { return " --directory '" + Stores() + "'"; }
  std::string ServiceFile(const std::string& more = "", const std::string& level = "opaque") const {
    return Write(
        "kafka: {brokers: '127.0.0.1:1', group: g}\ntopics: payments\nwindow:\n  engine: rocksdb\n"
        "  directory: '" +
        Stores() + "'\n  level: " + level + "\n  ids: partition_owned\n  id: key\n" + more);
  }

  void Open(int32_t partition) {
    if (window_ == nullptr) {
      window_ = *OpenPartitionWindows({.directory = Stores(),
                                       .level = Level::kOpaque,
                                       .generation = 1'000,
                                       .admin_socket = admin_socket_},
                                      SystemClock::Instance());
    }
    const auto known =
        window_->Open({.partition = partition, .topic = "payments", .owner = "group g"});
    ASSERT_TRUE(known) << known.error().message;
  }
  // Finishes `done` ids of the partition and leaves one open, `open-<partition>`.
  void Fill(int32_t partition, int done) {
    Open(partition);
    const OwnerEpoch owner_epoch = *window_->RaiseOwnerEpoch(0, partition, 0);
    for (int64_t i = 0; i <= done; i++) {
      const std::string id =
          i < done ? "id-" + std::to_string(i) : "open-" + std::to_string(partition);
      const Token token{7, static_cast<uint64_t>(i + 1)};
      const Coordinates at{0, partition, i};
      const ClaimRequest claim{
          .id = id, .token = token, .at = at, .owner_epoch = owner_epoch, .time = kThen};
      ClaimAnswer answer;
      ASSERT_TRUE(window_->Claim({&claim, 1}, {&answer, 1}));
      ASSERT_EQ(answer.answer, ClaimVerdict::kGranted);
      const CompleteRequest complete{.id = id, .token = token, .at = at, .time = kThen};
      MarkerChange change{};
      ASSERT_TRUE(i == done || window_->Complete({&complete, 1}, {&change, 1}));
    }
    const Announcement announced{
        .partition = partition, .from = 0, .to = done, .offset = done, .metadata = "m"};
    ASSERT_TRUE(window_->Announce({&announced, 1}));
    const Progress progress{
        .partition = partition, .owner_epoch = owner_epoch, .frontier = done, .watermark = kThen};
    MarkerChange change{};
    ASSERT_TRUE(window_->Committed({&progress, 1}, {&change, 1}));
  }
  std::map<std::string, std::string> Files() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(Stores())) {
      files[entry.path()] = entry.is_regular_file() ? ReadAll(entry.path()) : "";
    }
    return files;
  }

  std::string admin_socket_;
  std::unique_ptr<Window> window_;
};

TEST_F(WindowStat, ADirectoryThatNobodyHoldsIsReadStoreByStore) {
  Fill(3, 5);
  Fill(10, 0);
  window_.reset();
  const auto before = Files();
  const Ended ended = Run("window stat" + InDirectory());
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, StartsWith("# Read from the directory " + Stores() + "\n"));
  EXPECT_THAT(ended.out, HasSubstr("payments: " + Stores() +
                                   "/payments/3\n  5 ids: 5 in memory, "
                                   "0 in the history (buckets: 0); open 1, parked 0; "));
  EXPECT_THAT(ended.out, HasSubstr("  partition 3: knows [0, 5), announced 5, committed 5, own "));
  EXPECT_THAT(ended.out, HasSubstr(", watermark 2020-09-13T12:26:40"));
  EXPECT_THAT(ended.out, HasSubstr("\n  nothing is forgotten yet, level opaque, "));
  EXPECT_THAT(ended.out, Not(HasSubstr("before it has passed it"))) << "there is no other";
  EXPECT_THAT(ended.out, HasSubstr("\n  of group g, topic payments, partition 3\n"));
  EXPECT_LT(ended.out.find("payments/3\n"), ended.out.find("payments/10\n")) << "by number";
  EXPECT_EQ(Files(), before) << "a look writes nothing";
  const auto json = nlohmann::json::parse(Run("window stat --json" + InDirectory()).out);
  EXPECT_EQ(json["from"], "stores");
  EXPECT_EQ(json["stores"][0]["partitions"][0]["known_to"], 5);
  const std::string topic = Run("window stat --directory '" + Stores() + "/payments'").out;
  EXPECT_THAT(topic, HasSubstr("/payments/3\n  5 ids: "));
  EXPECT_THAT(topic, HasSubstr("/payments/10\n  0 ids: "));
  EXPECT_THAT(Run("window stat --directory '" + Stores() + "/payments/3'").out,
              HasSubstr("  5 ids: "));
}

TEST_F(WindowStat, WhatIsInTheHistoryIsCountedAndFound) {
  Fill(0, 2'500);
  window_.reset();
  const auto json =
      nlohmann::json::parse(Run("window stat --json" + InDirectory()).out)["stores"][0];
  EXPECT_EQ(json["ids_in_memory"].get<int>() + json["ids_in_history"].get<int>(), 2'500);
  EXPECT_GE(json["buckets"], 1);
  const Ended show = Run("window show id-3" + InDirectory());
  EXPECT_EQ(show.code, 0);
  EXPECT_EQ(show.err, "") << "RocksDB's warnings are for the store's owner";
  EXPECT_EQ(show.out, "# Read from the directory " + Stores() +
                          "\ndone\nfrom payments [0], offset 3\nin the store " + Stores() +
                          "/payments/0\n");
}

TEST_F(WindowStat, AClaimOfAProcessThatIsGoneIsNobodysAndUncertain) {
  Fill(2, 1);
  window_.reset();
  const Ended show = Run("window show open-2" + InDirectory());
  EXPECT_THAT(show.out, HasSubstr("\nopen\nfrom payments [2], offset 1\nin the store " + Stores() +
                                  "/payments/2\nnobody holds it\nuncertain: "));
  EXPECT_THAT(Run("window show nothing" + InDirectory()).out,
              HasSubstr("\nnone: the window keeps nothing of this id\n"));
}

TEST_F(WindowStat, AStoreThatIsHeldIsLeftAloneAndItsHolderIsNamed) {
  Fill(1, 3);
  Fill(4, 2);
  window_->Close(0, 1);
  const std::string held = Stores() + "/payments/4: process " + std::to_string(getpid()) +
                           " holds it; it does not say where it can be asked: name its socket with "
                           "--socket, or its service file with -c\n";
  const Ended stat = Run("window stat" + InDirectory());
  EXPECT_EQ(stat.code, 6);
  EXPECT_EQ(stat.err, held);
  EXPECT_THAT(stat.out, HasSubstr("  3 ids: "));
  EXPECT_THAT(stat.out, Not(HasSubstr("payments/4")));
  const Ended known = Run("window show id-2" + InDirectory());
  EXPECT_EQ(known.code, 0) << "the other store has it";
  const Ended unknown = Run("window show open-4" + InDirectory());
  EXPECT_EQ(unknown.code, 6) << "nobody can say that it is unknown";
  EXPECT_EQ(unknown.err, held);
  const Ended file = Run("window stat -c " + ServiceFile());
  EXPECT_EQ(file.code, 6);
  EXPECT_THAT(file.err, HasSubstr("and cannot be asked: `admin.socket` is not set in "));
}

TEST_F(WindowStat, AStoreThatIsHeldLeadsToItsHolder) {
  Fill(1, 3);
  window_.reset();  // and what it has left is read beside what the service says
  std::filesystem::rename(Stores() + "/payments", Stores() + "/refunds");
  admin_socket_ = Socket();
  Fill(4, 2);
  Fill(5, 1);
  SilentRuntime runtime;
  auto socket =
      *AdminSocket::Open({.socket = Socket()}, {.runtime = &runtime, .window = window_.get()});
  const Ended both = Run("window stat" + InDirectory());
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_THAT(both.out, StartsWith("# By the service that runs at " + Socket() +
                                   "\n# Read from the directory " + Stores() + "\n"));
  for (const char* store : {"payments/4\n  2 ids", "payments/5\n  1 ids", "refunds/1\n  3 ids"}) {
    EXPECT_THAT(both.out, HasSubstr(store)) << "once each";
  }
  const auto json = nlohmann::json::parse(Run("window stat --json" + InDirectory()).out);
  EXPECT_EQ(json["from"], "both");
  EXPECT_EQ(json["stores"].size(), 3u);
  const Ended one = Run("window stat --directory '" + Stores() + "/payments/4'");
  EXPECT_THAT(one.out, StartsWith("# By the service that runs at " + Socket() + "\npayments: "));
  EXPECT_THAT(Run("window show open-5" + InDirectory()).out, HasSubstr("held by the claim"));
  EXPECT_THAT(Run("window show open-1" + InDirectory()).out, HasSubstr("nobody holds it"));
  EXPECT_EQ(Run("window show nothing" + InDirectory()).code, 0) << "all of them were asked";
  socket.reset();
  const Ended gone = Run("window stat" + InDirectory());
  EXPECT_EQ(gone.code, 6);
  EXPECT_THAT(gone.err, HasSubstr("payments/4: process " + std::to_string(getpid()) +
                                  " holds it, and cannot be asked: there is no " + Socket()));
  EXPECT_THAT(gone.out, HasSubstr("refunds/1\n")) << "what can be read is shown";
  EXPECT_EQ(Run("window show nothing" + InDirectory()).code, 6);
}

// Nobody has said `admin_socket`: the socket of a program is found by its window.
TEST_F(WindowStat, AStoreThatIsHeldNamesTheSocketThatWasOpenedForItsWindow) {
  Fill(4, 2);  // before the socket is there
  SilentRuntime runtime;
  const auto socket =
      *AdminSocket::Open({.socket = Socket()}, {.runtime = &runtime, .window = window_.get()});
  Fill(5, 1);
  for (const char* partition : {"4", "5"}) {
    const Ended ended =
        Run("window stat --directory '" + Stores() + "/payments/" + partition + "'");
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, StartsWith("# By the service that runs at " + Socket() + "\n"));
  }
  const Ended unknown =
      Run("window show nothing -c " + ServiceFile("admin: {socket: '" + Socket() + "'}\n"));
  EXPECT_EQ(unknown.code, 0) << unknown.err;
  EXPECT_THAT(unknown.out, HasSubstr("none: the window keeps nothing of this id\n"));
}

TEST_F(WindowStat, ASocketThatTheOptionsNameStandsBeforeTheOneThatIsOpened) {
  admin_socket_ = "/said/admin.sock";
  Fill(4, 2);
  SilentRuntime runtime;
  const auto socket =
      *AdminSocket::Open({.socket = Socket()}, {.runtime = &runtime, .window = window_.get()});
  const Ended ended = Run("window stat" + InDirectory());
  EXPECT_EQ(ended.code, 6);
  EXPECT_THAT(ended.err, HasSubstr("cannot be asked: there is no /said/admin.sock"));
}

TEST_F(WindowStat, ADirectoryThatCannotBeMadeIsAMistakeOfTheServiceFile) {
  const std::string file = ServiceFile();
  EXPECT_EQ(Run("check -c " + file).code, 0);
  EXPECT_FALSE(std::filesystem::exists(Stores())) << "a check makes nothing";
  std::ofstream(Stores()) << "a file";
  const Ended check = Run("check -c " + file);
  EXPECT_EQ(check.code, 2);
  EXPECT_THAT(check.err, HasSubstr("`window.directory`: "));
  EXPECT_THAT(check.err, HasSubstr(Stores() + ": "));
  EXPECT_THAT(check.err, EndsWith("Not a directory\n"));
  EXPECT_EQ(std::count(check.err.begin(), check.err.end(), '\n'), 1);
  const Ended run = Run("run --handler count --consume-without-effects -c " + file);
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err,
              HasSubstr(Stores() + ": no store can be made there, or none written to: Not a "
                                   "directory\"}\n"))
      << "a line of the log";
}

TEST_F(WindowStat, WhereAHolderCanBeAskedIsTheWordOfTheLastOne) {
  admin_socket_ = "/former/admin.sock";
  Fill(1, 1);
  window_.reset();
  admin_socket_ = "";
  Open(1);
  EXPECT_THAT(Run("window stat" + InDirectory()).err, HasSubstr("it does not say where"));
  const std::string file = Stores() + "/payments/1/ASKED_AT";
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_THAT(Run("window stat" + InDirectory()).err, HasSubstr("it does not say where"))
      << "nobody waits for a pipe";
}

TEST_F(WindowStat, TheServiceFileLeadsToTheServiceOrToWhatItHasLeft) {
  Fill(6, 4);
  const std::string file = ServiceFile("admin: {socket: '" + Socket() + "'}\n");
  SilentRuntime runtime;
  {
    const auto socket =
        AdminSocket::Open({.socket = Socket()}, {.runtime = &runtime, .window = window_.get()});
    ASSERT_TRUE(socket);
    const Ended service = Run("window stat -c " + file);
    EXPECT_EQ(service.code, 0) << service.err;
    EXPECT_THAT(service.out,
                StartsWith("# By the service that runs at " + Socket() + "\npayments: "));
    EXPECT_THAT(service.out, HasSubstr("  4 ids: 4 in memory"));
    EXPECT_EQ(Run("window stat --socket '" + Socket() + "'").out, service.out);
    EXPECT_THAT(Run("window show open-6 -c " + file).out, HasSubstr("held by the claim"));
  }
  window_.reset();
  const Ended left = Run("window stat -c " + file);
  EXPECT_EQ(left.code, 0) << left.err;
  EXPECT_THAT(left.out, StartsWith("# Read from the directory " + Stores() +
                                   ", since there is no " + Socket()));
  EXPECT_THAT(left.out, HasSubstr("  4 ids: 4 in memory"));
}

// Its group has other members, with stores of their own in the same directory.
TEST_F(WindowStat, AnIdThatTheServiceOfAFileDoesNotKnowIsLookedForInTheOtherStores) {
  Fill(1, 3);
  window_.reset();
  std::filesystem::rename(Stores() + "/payments", Stores() + "/refunds");
  admin_socket_ = Socket();
  Fill(6, 4);
  const std::string file = ServiceFile("admin: {socket: '" + Socket() + "'}\n");
  SilentRuntime runtime;
  const auto socket =
      *AdminSocket::Open({.socket = Socket()}, {.runtime = &runtime, .window = window_.get()});
  const std::string service = "# By the service that runs at " + Socket() + "\n";
  const std::string others = "# Read from the directory " + Stores() + "\n";
  EXPECT_THAT(Run("window show open-6 -c " + file).out, StartsWith(service + "open\n"));
  const Ended elsewhere = Run("window show open-1 -c " + file);
  EXPECT_EQ(elsewhere.code, 0) << elsewhere.err;
  EXPECT_THAT(elsewhere.out, StartsWith(service + others + "open\n"));
  EXPECT_EQ(Run("window show nothing -c " + file).out,
            service + others + "none: the window keeps nothing of this id\n");
}

TEST_F(WindowStat, AServiceTellsWhichStoresItHasNotOpened) {
  Fill(6, 4);
  SilentRuntime runtime;
  const auto socket =
      *AdminSocket::Open({.socket = Socket()}, {.runtime = &runtime, .window = window_.get()});
  const std::string at = " --socket '" + Socket() + "'";
  const std::vector<PartitionReport> had = {
      {.topic = "payments", .partition = 6, .status = {.phase = PartitionPhase::kActive}},
      {.topic = "payments", .partition = 7, .begun = false, .waiting = "it is \x1b held"},
      {.topic = "payments", .partition = 8, .begun = false, .stopped = "it is damaged"}};
  runtime.Have(had);
  const std::string not_open =
      "payments [7]: its store is not open, waiting: it is \\u001b held\n"
      "payments [8]: its store is not open, stopped: it is damaged\n";
  EXPECT_THAT(Run("window stat" + at).out, EndsWith("payments, partition 6\n" + not_open));
  const auto json = nlohmann::json::parse(Run("window stat --json" + at).out);
  EXPECT_EQ(json["not_open"][0]["partition"], 7);
  EXPECT_EQ(json["stores"].size(), 1u);
  const std::string by_service = "# By the service that runs at " + Socket() + "\n";
  EXPECT_EQ(Run("window show id-77" + at).out,
            by_service + "none: the window keeps nothing of this id\n" + not_open)
      << "they may have it";
  EXPECT_EQ(
      Run("window show id-1" + at).out,
      by_service + "done\nfrom payments [6], offset 1\nin the store " + Stores() + "/payments/6\n");
  window_->Close(0, 6);
  runtime.Have({had[0], had[1]});
  EXPECT_THAT(Run("window stat" + at).out, HasSubstr("admin.sock\npayments [7]: its store"));
  runtime.Have({});
  EXPECT_THAT(Run("window stat" + at).out,
              EndsWith("no store is open: no partition is assigned\n"));
}

TEST_F(WindowStat, StoresThatNobodyHoldsAreShortenedByAnOperator) {
  EXPECT_EQ(Run("window shorten --why test -c " + ServiceFile()).code, 2) << "no store is there";
  Fill(1, 2);
  const std::string file = ServiceFile("  remember: 2h\n  skew: 1s\n");
  EXPECT_EQ(Run("window shorten --why test -c " + file).code, 6) << "this process holds it";
  window_.reset();
  EXPECT_THAT(Run("window stat" + InDirectory()).out,
              HasSubstr("\n  remembers 168h, and 1m of skew\n"));
  const Ended shortened = Run("window shorten --why test -c " + file);
  EXPECT_EQ(shortened.code, 0) << shortened.err;
  EXPECT_EQ(shortened.out, "in force from now on: remember 2h, skew 1s\n");
  const std::string longer = ServiceFile("  remember: 3h\n  skew: 1s\n");
  const Ended refused = Run("window shorten --why test -c " + longer);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("has remember 2h, skew 1s; the file asks for remember 3h, "
                                     "skew 1s, and nothing is changed"));
  EXPECT_THAT(Run("window stat" + InDirectory()).out,
              HasSubstr("\n  remembers 2h, and 1s of skew\n"));
}

TEST_F(WindowStat, DamageIsToldAndHasTheCodeOfAFailure) {
  Fill(1, 3);
  Fill(2, 3);
  window_.reset();
  std::filesystem::resize_file(Stores() + "/payments/2/SYNCED", 5);
  const Ended stat = Run("window stat" + InDirectory());
  EXPECT_EQ(stat.code, 1);
  EXPECT_THAT(stat.err, HasSubstr("payments/2/SYNCED is damaged"));
  EXPECT_THAT(stat.out, HasSubstr("payments/1\n"));
}

TEST_F(WindowStat, AnIdThatNoStoreCanHaveIsRefusedOnceAndBeforeAnyIsOpened) {
  Fill(1, 3);
  Fill(2, 3);
  window_.reset();
  for (const size_t length : {0, 1'025}) {
    const Ended show = Run("window show '" + std::string(length, 'i') + "'" + InDirectory());
    EXPECT_EQ(show.code, 2);
    EXPECT_EQ(show.out, "");
    EXPECT_EQ(show.err, "an id has 1 to 1024 bytes, not " + std::to_string(length) + "\n");
  }
  EXPECT_EQ(Run("window show " + std::string(1'024, 'i') + InDirectory()).code, 0);
}

TEST_F(WindowStat, WhereNoStoreLiesThatIsSaid) {
  const Ended none = Run("window stat" + InDirectory());
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("no store of a window lies there"));
  EXPECT_EQ(Run("window stat").code, 2);
  EXPECT_EQ(Run("window stat --socket x" + InDirectory()).code, 2) << "one of them";
}

TEST_F(WindowStat, TheHandlersOfTheCommandAreNotRunAtTheLevelAtomic) {
  const std::string file = ServiceFile("  one_host: true\n", "atomic");
  EXPECT_EQ(Run("check -c " + file).code, 0);
  const Ended run = Run("run --handler count --consume-without-effects -c " + file);
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("the handlers of `oncemq run` write no effects"));
  EXPECT_FALSE(std::filesystem::exists(Stores()));
}

TEST(StoreText, SaysWhomForgettingWaitsForOnlyWhereThereAreOthers) {
  const auto store = nlohmann::ordered_json::parse(
      R"({"partitions":[{"partition":1,"pins":true}],"horizon_ms":1600000000000})");
  EXPECT_THAT(StoreText(store), Not(HasSubstr("passed")));
  EXPECT_THAT(StoreText(store), HasSubstr("  horizon 2020-09-13T12:26:40.000Z: older ids may be "));
  auto shared = store;
  shared["partitions"].push_back({{"partition", 2}, {"pins", false}});
  EXPECT_THAT(StoreText(shared), HasSubstr("\n    nothing is forgotten before it has passed it\n"));
}

TEST(StoreText, TakesAnyJson) {
  for (const char* text : {"{}", "[]", "5", "null", R"({"partitions":[1,{}],"horizon_ms":"x"})",
                           R"({"error":5})", R"({"topic":{},"partitions":{"a":1}})"}) {
    EXPECT_NE(StoreText(nlohmann::ordered_json::parse(text)), "") << text;
  }
  EXPECT_THAT(StoreText({{"topic", "\x1b[31m"}}), HasSubstr("\\u001b[31m: "));
}

}  // namespace
}  // namespace oncemq
