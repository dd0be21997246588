// SPDX-License-Identifier: Apache-2.0
#include "service_commands.h"
#include "oncemq/base/bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "admin_client.h"
#include "next_step.h"
#include "oncemq/base/store_login.h"
#include "oncemq/dedup/memory_window.h"
#include "oncemq/dedup/store_stat.h"
#include "support/temp_dir.h"

namespace oncemq {
namespace {

using nlohmann::json;
using oncemq::testing::TempDir;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class FixedRuntime final : public Runtime {
 public:
  RunReport Run(std::stop_token) override { return report; }
  RunReport Report() const override { return report; }
  Result<std::vector<FoundMessage>> FindOpen(std::string_view, milliseconds) const override {
    return found;
  }
  const std::string& guarantee() const override { return line; }
  RunReport report;
  Result<std::vector<FoundMessage>> found = std::vector<FoundMessage>{};
  std::string line = "guarded: once per id";
};

struct StoreEndpoint {
  std::string user = "app";
  std::string password = "hunter2";
  ReadLogin read_login = {};
};

std::string ToString(const StoreEndpoint&) {
  return "store://db1";
}

class ServiceCommandsTest : public ::testing::Test {
 protected:
  ServiceCommandsTest() {
    RunReport& report = runtime_.report;
    report.counts = {.deliveries = 6, .applied = 3, .suppressed = 2, .open = 1, .uncertain = 4};
    PartitionStatus status;
    status.phase = PartitionPhase::kActive;
    status.epoch = 2;
    status.owner_epoch = 99;
    status.frontier = 40;
    status.committed = 38;
    status.next_offset = 44;
    status.suspect_to = 51;
    status.totals.applied = 30;
    status.counts = report.counts;
    report.partitions = {{"payments", 3, status}};
    report.partitions[0].waiting = "for a commit";
    report.partitions[0].unprotected = UnprotectedTime{{5'000}, WallTime{9'000}};
    report.stops = {"payments [5] at 17: \xFF"};
    report.unreached = "k1:9092 (refused)";
    report.caught_up = 11;
  }

  json Query(const std::string& command, const json& arguments = json::object()) {
    AdminCommands commands;
    AddServiceCommands(commands, {.runtime = &runtime_,
                                  .window = window_.get(),
                                  .group = "shop",
                                  .guarantee = guarantee_,
                                  .topics = topics_});
    return json::parse(AnswerAdmin(commands, EncodeAdminTarget({command, arguments})).body);
  }
  json Show(const std::string& id) { return Query("window show", {{"id_hex", HexOfBytes(id)}}); }

  FixedRuntime runtime_;
  std::unique_ptr<Window> window_ =
      *OpenMemoryWindow({.level = Level::kOpaque}, SystemClock::Instance());
  std::string guarantee_;
  std::vector<std::string> topics_ = {"payments", "refunds"};
};

TEST_F(ServiceCommandsTest, StatusSaysWhatTheRunIsDoing) {
  const json status = Query("status");
  EXPECT_EQ(status["group"], "shop");
  EXPECT_EQ(status["pid"], getpid());
  EXPECT_EQ(status["guarantee"], "guarded: once per id") << "as the runtime has logged it";
  EXPECT_EQ(status["counts"]["deliveries"], 6);
  EXPECT_EQ(status["counts"]["applied"], 3);
  EXPECT_EQ(status["counts"]["handed_back"], 0);
  EXPECT_EQ(status["beside"]["uncertain"], 4);
  EXPECT_EQ(status["beside"]["caught_up"], 11);
  ASSERT_EQ(status["partitions"].size(), 1u);
  const json& partition = status["partitions"][0];
  EXPECT_EQ(partition["topic"], "payments");
  EXPECT_EQ(partition["partition"], 3);
  EXPECT_EQ(partition["begun"], true);
  EXPECT_EQ(partition["waiting"], "for a commit");
  EXPECT_EQ(partition["stopped"], "");
  EXPECT_EQ(partition["phase"], "active");
  EXPECT_EQ(partition["epoch"], 2);
  EXPECT_EQ(partition["own"], 99);
  EXPECT_EQ(partition["frontier"], 40);
  EXPECT_EQ(partition["committed"], 38);
  EXPECT_EQ(partition["next_offset"], 44);
  EXPECT_EQ(partition["suspect_to"], 51);
  EXPECT_EQ(partition["unprotected"], json({{"since_ms", 5}, {"until_ms", 9}}));
  EXPECT_EQ(partition["totals"]["applied"], 30);
  EXPECT_EQ(partition["counts"]["open"], 1);
  EXPECT_THAT(status["stops"][0].get<std::string>(), StartsWith("payments [5] at 17: "));
  EXPECT_EQ(status["unreached"], "k1:9092 (refused)");
  EXPECT_EQ(status["error"], "");
}

TEST_F(ServiceCommandsTest, StatusNamesEachServerThatRefusesTheLogin) {
  EXPECT_EQ(Query("status")["refused_logins"], json::array());
  const StoreEndpoint endpoint;
  const Error refusal{Code::kRefused, Effect::kNone, "wrong password"};
  EXPECT_FALSE(StoreLogin::Of(endpoint)->Enter(
      endpoint, BootNow(), [&](const StoreEndpoint&) { return Result<int>(refusal); }));
  EXPECT_EQ(Query("status")["refused_logins"],
            json::array({"store://db1 refuses the login: wrong password"}));
}

TEST_F(ServiceCommandsTest, StatusSaysWhatDoesNotMove) {
  PartitionReport& one = runtime_.report.partitions[0];
  one.status.retrying = 2;
  one.log_end = 60;
  one.lag = 20;
  one.unmoved = milliseconds(7'000);
  one.oldest = HeldBy{.message = {.offset = 41,
                                  .id = "p-17",
                                  .state = OpenState::kRetrying,
                                  .attempt = 7,
                                  .why = "the database is down"},
                      .held_for = milliseconds(75'000),
                      .next_try = milliseconds(1'500)};
  runtime_.report.missing = {{"order", milliseconds(35'000)}};
  runtime_.report.unreached_for = milliseconds(12'000);
  runtime_.report.age = milliseconds(40);
  json status = Query("status");
  EXPECT_EQ(status["retrying"], 2);
  EXPECT_EQ(status["lag"], 20);
  EXPECT_EQ(status["missing_topics"], json::parse(R"([{"topic":"order","missing_ms":35000}])"));
  EXPECT_EQ(status["unreached_ms"], 12'000);
  EXPECT_EQ(status["age_ms"], 40);
  const json& partition = status["partitions"][0];
  EXPECT_EQ(partition["log_end"], 60);
  EXPECT_EQ(partition["lag"], 20);
  EXPECT_EQ(partition["retrying"], 2);
  EXPECT_EQ(partition["unmoved_ms"], 7'000);
  EXPECT_EQ(partition["oldest"],
            json::parse(R"({"offset":41,"id":"p-17","state":"retrying","attempt":7,
                            "why":"the database is down","next_try_ms":1500,"held_ms":75000})"));
  one.oldest->message.id = "\xFF";
  one.oldest->next_try.reset();
  one.lag.reset();
  status = Query("status");
  EXPECT_EQ(status["partitions"][0]["oldest"]["id_hex"], "ff");
  EXPECT_EQ(status["partitions"][0]["oldest"]["next_try_ms"], nullptr);
  EXPECT_EQ(status["partitions"][0]["lag"], nullptr);
  EXPECT_EQ(status["lag"], nullptr) << "that of one partition is not known";
  runtime_.report.partitions.clear();
  EXPECT_EQ(Query("status")["lag"], nullptr) << "it was given none yet";
}

TEST_F(ServiceCommandsTest, StatusOfFourThousandPartitionsFitsIntoAnAnswer) {
  PartitionReport& one = runtime_.report.partitions[0];
  one.waiting = std::string(1'000, 'w');
  runtime_.report.partitions.resize(4'000, one);
  for (size_t i = 0; i < 4'000; i++) {
    runtime_.report.partitions[i].oldest = HeldBy{
        .message = {.offset = 1, .id = std::string(1'024, '\x01'), .why = std::string(200, 'w')},
        .held_for = milliseconds(i)};
  }
  const json status = Query("status");
  ASSERT_EQ(status["partitions"].size(), 4'000u);
  EXPECT_EQ(status["partitions"][4'000 - 257]["oldest"], nullptr);
  EXPECT_TRUE(status["partitions"][4'000 - 256]["oldest"].is_object()) << "held longest";
}

TEST_F(ServiceCommandsTest, AnArgumentThatACommandDoesNotKnowIsRefused) {
  EXPECT_EQ(Query("status", {{"verbose", true}})["error"], "the command takes no arguments");
  EXPECT_EQ(Query("explain guarantee", {{"verbose", true}})["error"],
            "the command takes no arguments");
}

TEST_F(ServiceCommandsTest, GuaranteeIsTheTextOfTheServiceOrTheLineOfItsRuntime) {
  EXPECT_EQ(Query("explain guarantee")["text"], "guarded: once per id\n");
  guarantee_ = "Guarantee of group `shop`: ...\n";
  EXPECT_EQ(Query("explain guarantee")["text"], guarantee_);
  EXPECT_EQ(Query("explain guarantee")["line"], "guarded: once per id");
}

TEST_F(ServiceCommandsTest, ExplainPartitionSaysWhoHoldsItAndTheNextStep) {
  PartitionReport& one = runtime_.report.partitions[0];
  one.waiting = "";
  one.log_end = 60;
  one.lag = 20;
  one.oldest = HeldBy{.message = {.offset = 41,
                                  .id = "p-17",
                                  .state = OpenState::kRunning,
                                  .attempt = 2,
                                  .key = std::string("\xFF", 1)},
                      .held_for = milliseconds(75'000),
                      .with = Holder::kLock};
  one.client = {"active", milliseconds(1'500), {}};
  one.measures.trend = LagTrend::kStall;
  const json out = Query("explain partition", {{"topic", "payments"}, {"partition", 3}});
  EXPECT_EQ(out["owned"], true);
  EXPECT_EQ(out["holder"], "lock");
  EXPECT_EQ(out["oldest"]["offset"], 41);
  EXPECT_EQ(out["oldest"]["key_hex"], "ff");
  EXPECT_EQ(out["oldest"]["held_ms"], 75'000);
  EXPECT_EQ(out["lag"], 20);
  EXPECT_EQ(out["client"],
            json::parse(R"({"fetch_state":"active","record_ms":1500,"answer_ms":null})"));
  EXPECT_EQ(out["trend"], "STALL");
  EXPECT_THAT(out["next"].get<std::string>(), HasSubstr("oncemq lock ls"));
  EXPECT_FALSE(out["oldest"].contains("trace_id"));
  one.stopped = "not a payment";
  one.oldest->message.state = OpenState::kStopped;
  one.oldest->message.trace_id = "4bf92f35";
  const json stopped = Query("explain partition", {{"topic", "payments"}, {"partition", 3}});
  EXPECT_EQ(stopped["holder"], "stopped");
  EXPECT_EQ(stopped["trend"], nullptr);
  EXPECT_EQ(stopped["oldest"]["state"], "stopped");
  EXPECT_EQ(stopped["oldest"]["trace_id"], "4bf92f35");
}

TEST_F(ServiceCommandsTest, ExplainPartitionDoesNotBlameTheWindowForAJournalOrAParkTopic) {
  PartitionReport& one = runtime_.report.partitions[0];
  one.waiting = "the park topic payments.shop.park cannot be written";
  one.waits_for = Holder::kStore;
  const json out = Query("explain partition", {{"topic", "payments"}, {"partition", 3}});
  EXPECT_EQ(out["holder"], "store");
  EXPECT_THAT(out["next"].get<std::string>(),
              HasSubstr("the journal or the park topic, by the reason above"));
}

TEST_F(ServiceCommandsTest, ExplainPartitionKnowsOnlyPartitionsOfThisMember) {
  runtime_.report.partitions.push_back({.topic = "payments", .partition = 4});
  runtime_.report.unreached = "";
  for (const int number : {4, 5}) {
    const json out = Query("explain partition", {{"topic", "payments"}, {"partition", number}});
    EXPECT_EQ(out["owned"], false) << number;
    EXPECT_THAT(out["next"].get<std::string>(), HasSubstr("oncemq group status"));
  }
  for (const json& wrong : {json::object(), json{{"topic", "payments"}}, json{{"partition", 3}},
                            json{{"topic", "payments"}, {"partition", "3x"}},
                            json{{"topic", "payments"}, {"partition", -1}},
                            json{{"topic", "payments"}, {"partition", 3}, {"verbose", 1}}}) {
    EXPECT_TRUE(Query("explain partition", wrong).contains("error")) << wrong;
  }
}

TEST_F(ServiceCommandsTest, ExplainPartitionSendsToNoOwnerThatCannotBeFound) {
  const auto next = [&](const std::string& topic) {
    return Query("explain partition", {{"topic", topic}, {"partition", 4}})["next"]
        .get<std::string>();
  };
  EXPECT_THAT(next("payments"), StartsWith("no broker answers"));
  runtime_.report.unreached = "";
  EXPECT_THAT(next("refunds"), HasSubstr("oncemq group status")) << "read, and none of it is here";
  EXPECT_THAT(next("order"), StartsWith("this service does not read the topic order"));
  topics_.clear();
  EXPECT_THAT(next("order"), HasSubstr("oncemq group status")) << "its topics are not known";
}

TEST_F(ServiceCommandsTest, ExplainIdLooksIntoTheWindowAndAtTheOpenMessages) {
  const auto explain = [&](const std::string& id) { return Query("explain id", {{"id", id}}); };
  json out = explain("p-17");
  EXPECT_EQ(out["window"]["state"], "none");
  EXPECT_EQ(out["open"], json::array());
  EXPECT_EQ(out["place"], nullptr);
  EXPECT_THAT(out["next"].get<std::string>(), HasSubstr("another member"));
  runtime_.found =
      std::vector<FoundMessage>{{"payments",
                                 3,
                                 {.offset = 41, .id = "p-17", .state = OpenState::kRetrying},
                                 milliseconds(500)}};
  out = explain("p-17");
  EXPECT_EQ(out["open"][0]["topic"], "payments");
  EXPECT_EQ(out["open"][0]["next_try_ms"], 500);
  EXPECT_EQ(out["place"]["owned"], true);
  EXPECT_THAT(out["next"].get<std::string>(), HasSubstr("oncemq explain partition payments/3"));
  runtime_.found->front().message.state = OpenState::kStopped;
  EXPECT_THAT(explain("p-17")["next"].get<std::string>(), StartsWith("its partition is stopped"));
  runtime_.found = Error{Code::kTimeout, Effect::kNone, "it is busy"};
  const OwnerEpoch owner_epoch = *window_->RaiseOwnerEpoch(0, 3, 0);
  const std::string_view id = "p-17";
  const ClaimRequest claim{id, {0xABC, 5}, {0, 3, 41}, owner_epoch, 0};
  ClaimAnswer answer;
  ASSERT_TRUE(window_->Claim({&claim, 1}, {&answer, 1}));
  out = explain("p-17");
  EXPECT_EQ(out["open"]["error"], "it is busy") << "the rest is told all the same";
  EXPECT_EQ(out["window"]["state"], "open");
  EXPECT_THAT(out["next"].get<std::string>(), HasSubstr("are not known: ask again"));
  runtime_.found = std::vector<FoundMessage>{};
  out = explain("p-17");
  EXPECT_EQ(out["place"]["topic"], "payments");
  EXPECT_EQ(out["place"]["owned"], true);
  EXPECT_THAT(out["next"].get<std::string>(), StartsWith("no member has it in hand"));
  runtime_.report.partitions[0].partition = 2;
  out = explain("p-17");
  EXPECT_EQ(out["place"]["topic"], "payments") << "its number is known by another partition";
  EXPECT_EQ(out["place"]["partition"], 3);
  EXPECT_EQ(out["place"]["owned"], false);
  EXPECT_THAT(out["next"].get<std::string>(), HasSubstr("another member's"));
  window_.reset();
  EXPECT_EQ(explain("p-17")["window"], nullptr);
  EXPECT_TRUE(Query("explain id").contains("error"));
}

class StoresWindow final : public Window {
 public:
  const WindowCapabilities& capabilities() const override { return capabilities_; }
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t, int32_t, OwnerEpoch) override { return Refused(); }
  Status Claim(std::span<const ClaimRequest>, std::span<ClaimAnswer>) override { return Refused(); }
  Status Complete(std::span<const CompleteRequest>, std::span<MarkerChange>) override {
    return Refused();
  }
  Status Release(std::span<const ReleaseRequest>, std::span<MarkerChange>) override {
    return Refused();
  }
  Status Park(std::span<const ParkRequest>, std::span<MarkerChange>) override { return Refused(); }
  Status Renew(std::span<const RenewRequest>, std::span<MarkerChange>) override {
    return Refused();
  }
  Status Restore(std::span<const RestoreRequest>, std::span<MarkerChange>) override {
    return Refused();
  }
  Status Peek(std::span<const std::string_view>, std::span<MarkerView>) override {
    return Refused();
  }
  Result<std::vector<StoreStat>> Stat() override { return stats; }

  std::vector<StoreStat> stats;

 private:
  static Error Refused() { return {Code::kInvalid, Effect::kNone, "it only tells numbers"}; }

  const WindowCapabilities capabilities_{.engine = "stores"};
};

TEST_F(ServiceCommandsTest, ExplainIdSaysThatTheWindowGivesNoAnswer) {
  window_ = std::make_unique<StoresWindow>();
  const json out = Query("explain id", {{"id", "p-17"}});
  EXPECT_EQ(out["window"]["error"], "it only tells numbers");
  EXPECT_THAT(out["next"].get<std::string>(), StartsWith("the window has given no answer"));
}

TEST_F(ServiceCommandsTest, ExplainIdSendsToTheTargetForAnUncertainOne) {
  const OwnerEpoch owner_epoch = *window_->RaiseOwnerEpoch(0, 3, 0);
  const std::string_view id = "p-17";
  const Coordinates at{0, 3, 41};
  const ClaimRequest claim{id, {0xABC, 5}, at, owner_epoch, 0};
  ClaimAnswer answer;
  ASSERT_TRUE(window_->Claim({&claim, 1}, {&answer, 1}));
  MarkerChange change{};
  const CompleteRequest complete{id, {0xABC, 5}, at};
  ASSERT_TRUE(window_->Complete({&complete, 1}, {&change, 1}));
  json out = Query("explain id", {{"id", "p-17"}});
  EXPECT_EQ(out["window"]["state"], "done");
  EXPECT_THAT(out["next"].get<std::string>(), StartsWith("nothing: it is done"));
  out["window"]["uncertain"] = true;
  EXPECT_THAT(NextStepOf(nlohmann::ordered_json(out)), HasSubstr("look for it in the target"));
}

TEST_F(ServiceCommandsTest, WindowStatTellsEachStoreAndWhichCannotBeRead) {
  EXPECT_EQ(Query("window stat"),
            json::parse(R"({"engine":"memory","ids":"partition_owned","stores":[]})"));
  EXPECT_TRUE(Query("window stat", {{"verbose", true}}).contains("error"));
  auto window = std::make_unique<StoresWindow>();
  window->stats = {{.directory = "d/1",
                    .topic = "payments",
                    .level = Level::kOpaque,
                    .incarnation = 0xAB,
                    .recent = 7,
                    .history = 9,
                    .remembers = {milliseconds(7'000), milliseconds(8)},
                    .horizon = LogTime(milliseconds(5)),
                    .partitions = {{.partition = 1, .owner_epoch = 3, .pins = true}}},
                   {.directory = "d/2", .error = "no space"}};
  window_ = std::move(window);
  const json stores = Query("window stat")["stores"];
  EXPECT_EQ(stores[0]["ids_in_memory"], 7);
  EXPECT_EQ(stores[0]["ids_in_history"], 9);
  EXPECT_EQ(stores[0]["incarnation"], "00000000000000ab");
  EXPECT_EQ(stores[0]["level"], "opaque");
  EXPECT_EQ(stores[0]["remember_ms"], 7'000);
  EXPECT_EQ(stores[0]["skew_ms"], 8);
  EXPECT_EQ(stores[0]["horizon_ms"], 5);
  EXPECT_EQ(stores[0]["partitions"][0],
            json::parse(R"({"source":0,"partition":1,"own":3,"known_from":0,"known_to":0,
                            "announced":-1,"frontier":-1,"watermark_ms":null,"pins":true})"));
  EXPECT_EQ(stores[1], json::parse(R"({"directory":"d/2","error":"no space"})"));
  window_.reset();
  EXPECT_EQ(Query("window stat")["error"], "the service has no window: no id is looked at");
}

TEST_F(ServiceCommandsTest, WindowShowTellsWhatIsKeptOfAnId) {
  EXPECT_EQ(Show("x"), json::parse(R"({"id":"x","id_hex":"78","state":"none"})"));
  const OwnerEpoch owner_epoch = *window_->RaiseOwnerEpoch(0, 2, 0);
  const std::string id("a\0b", 3);
  const Token token{0xABC, 5};
  const Coordinates at{0, 2, 17};
  const ClaimRequest claim{id, token, at, owner_epoch, 0};
  ClaimAnswer answer;
  ASSERT_TRUE(window_->Claim({&claim, 1}, {&answer, 1}));
  ASSERT_EQ(answer.answer, ClaimVerdict::kGranted);
  EXPECT_EQ(Show(id), json::parse(R"({"id_hex":"610062","state":"open","source":0,"partition":2,
      "offset":17,"uncertain":false,"holder":"0000000000000abc0000000000000005"})"));
  const ReleaseRequest release{id, token, true, at};
  MarkerChange change{};
  ASSERT_TRUE(window_->Release({&release, 1}, {&change, 1}));
  EXPECT_EQ(Show(id)["uncertain"], true);
  EXPECT_FALSE(Show(id).contains("holder")) << "nobody holds it";
  const CompleteRequest complete{id, token, at};
  ASSERT_TRUE(window_->Complete({&complete, 1}, {&change, 1}));
  EXPECT_EQ(Show(id)["state"], "done");
}

TEST_F(ServiceCommandsTest, WindowShowTakesAnIdAsTextOrAsBytes) {
  EXPECT_EQ(Query("window show", {{"id", "pay-1"}})["id_hex"], "7061792d31");
  EXPECT_EQ(Query("window show", {{"id", "pay-1"}})["id"], "pay-1");
  EXPECT_EQ(Query("window show", {{"id_hex", "7061792D31"}})["id_hex"], "7061792d31");
  for (const json& wrong : {json::object(), json{{"id_hex", "7"}}, json{{"id_hex", "zz"}},
                            json{{"id", "a"}, {"id_hex", "61"}}, json{{"key", "a"}}}) {
    EXPECT_THAT(Query("window show", wrong)["error"].get<std::string>(), StartsWith("say which id"))
        << wrong;
  }
  EXPECT_TRUE(Query("window show", {{"id", ""}}).contains("error")) << "no id is empty";
  EXPECT_TRUE(Query("window show", {{"id", std::string(2'000, 'x')}}).contains("error"));
  window_.reset();
  EXPECT_THAT(Query("window show", {{"id", "a"}})["error"].get<std::string>(),
              HasSubstr("no window"));
}

TEST_F(ServiceCommandsTest, HexDigitsAreTheBytesAndBack) {
  std::string all;
  for (int i = 0; i < 256; i++) {
    all.push_back(static_cast<char>(i));
  }
  EXPECT_EQ(BytesOfHex(HexOfBytes(all)), all);
  EXPECT_EQ(HexOfBytes("\x01\xFE"), "01fe");
  EXPECT_EQ(BytesOfHex("0"), std::nullopt);
  EXPECT_EQ(BytesOfHex("0x"), std::nullopt);
  EXPECT_EQ(BytesOfHex(""), "");
}

TEST_F(ServiceCommandsTest, TheSocketOfAServiceAnswersThem) {
  const TempDir dir;
  const std::string path = dir.path() / "admin.sock";
  {
    const auto socket =
        AdminSocket::Open({.socket = path}, {&runtime_, window_.get(), "shop", guarantee_});
    ASSERT_TRUE(socket) << socket.error().message;
    const auto status = QueryAdmin(path, {.command = "status"}, milliseconds(20'000));
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ((*status)["group"], "shop");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ServiceCommandsTest, ASocketThatCannotServeIsRefused) {
  const TempDir dir;
  const std::string path = dir.path() / "admin.sock";
  const AdminSubject subject{&runtime_, nullptr, "", ""};
  EXPECT_EQ(AdminSocket::Open({.socket = path}, {}).error().code, Code::kInvalid);
  EXPECT_FALSE(AdminSocket::Open({.socket = path, .deadline = milliseconds(0)}, subject));
  EXPECT_FALSE(AdminSocket::Open({.socket = path, .connections = 0}, subject));
  EXPECT_FALSE(AdminSocket::Open({.socket = ""}, subject));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

}  // namespace
}  // namespace oncemq
