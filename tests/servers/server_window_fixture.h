// SPDX-License-Identifier: Apache-2.0
// The commands about a window in a real server, PostgreSQL or Redis; their common part.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "oncemq/dedup/window.h"
#include "oncemq/framework/admin.h"
#include "unit/cli/command_fixture.h"

namespace oncemq::testing {

// Of the service files below.
inline constexpr char kCommandScope[] = "default/default/payments/default";

// A service that only answers at its socket.
class IdleRuntime final : public Runtime {
 public:
  RunReport Run(std::stop_token) override { return {}; }
  RunReport Report() const override { return {}; }
  Result<std::vector<FoundMessage>> FindOpen(std::string_view, milliseconds) const override {
    return std::vector<FoundMessage>{};
  }
  const std::string& guarantee() const override { return line_; }

 private:
  const std::string line_ = "opaque";
};

class ServerWindowFixture : public Command {
 protected:
  // The password in the address is "secret".
  std::string FileWith(const std::string& engine, const std::string& at, const std::string& keys,
                       const std::string& brokers = "127.0.0.1:1",
                       const std::string& ids = "crossing") const {
    return Write("kafka: {brokers: '" + brokers +
                 "', group: payments}\ntopics: payments\n"
                 "window:\n  engine: " +
                 engine + "\n  at: '" + at + "'\n" + keys + "  level: opaque\n  ids: " + ids +
                 "\n  id: {header: message-id}\n");
  }

  // One line, on standard error, without the password.
  void ExpectCheckReports(const std::string& file, int code, const std::string& why) const {
    const Ended ended = Run("check " + file);
    EXPECT_EQ(ended.code, code) << why;
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
    EXPECT_THAT(ended.err,
                ::testing::AllOf(::testing::StartsWith("`window`: "), ::testing::HasSubstr(why),
                                 ::testing::Not(::testing::HasSubstr("secret"))));
  }

  // `stopped` is a server that is down now.
  template <class Server>
  void ExpectRunWaitsFor(Server& stopped, const std::string& file) const {
    Process service(
        {.command = ShellLine("run --handler count --consume-without-effects -c " + file)});
    const auto says = [&](const std::string& words) {
      return Eventually(std::chrono::seconds(20),
                        [&] { return ReadAll(err_).find(words) != std::string::npos; });
    };
    EXPECT_TRUE(says("the store of the window does not answer")) << ReadAll(err_);
    stopped.Restart();
    EXPECT_TRUE(says("the store of the window answers")) << ReadAll(err_);
    EXPECT_EQ(service.Terminate(std::chrono::seconds(20)), 5) << "no broker is there";
  }

  void ExpectNothingToRead(const std::string& file) const {
    for (const char* command : {"window show x -c ", "window stat -c "}) {
      const Ended unopened = Run(command + file);
      EXPECT_EQ(unopened.code, 2) << command;
      EXPECT_THAT(unopened.err,
                  ::testing::HasSubstr("no process has opened the window of the scope"));
    }
    EXPECT_EQ(Run("window forget x --why y -c " + file).code, 2) << "the same cause";
    EXPECT_EQ(Run("window gc -c " + file).code, 2);
    const std::string ref = "shop/" + std::string(64, '0');
    EXPECT_EQ(Run("gate show " + ref + " -c " + file).code, 2);
    EXPECT_EQ(Run("gate resolve " + ref + " --applied --why y -c " + file).code, 2);
  }

  // The commands of this test find it there, unless they say -c or --at.
  static void OfferWindow(const std::string& url) { ::setenv("ONCEMQ_WINDOW", url.c_str(), 1); }
  void TearDown() override { ::unsetenv("ONCEMQ_WINDOW"); }

  // `place` says where the window is: -c with a file, or the scope of the one that is offered.
  void ExpectGateShows(const std::string& place) const {
    const Ended shown = Run("gate show shop/" + std::string(64, '0') + " " + place);
    EXPECT_EQ(shown.code, 1) << shown.err;
    EXPECT_EQ(shown.out, "none: the window keeps nothing of this operation\n") << place;
    const auto json = nlohmann::json::parse(
        Run("gate show --json shop/" + std::string(64, '0') + " " + place).out);
    EXPECT_EQ(json["id"], "shop/" + std::string(64, '0')) << "a text is given as one";
    EXPECT_EQ(Run("gate show shop/abc " + place).code, 2) << "no gate made it";
  }
  // A caller was killed while it held an operation: nobody has asked for it since.
  void ExpectGateShowsASilentHolder(Window& window, const std::string& file) const {
    const std::string ref = "shop/" + std::string(64, 'b');
    const ClaimRequest claim{.id = ref, .token = {0xABC, 6}, .lease = milliseconds(1)};
    ClaimAnswer answer;
    ASSERT_TRUE(window.Claim({&claim, 1}, {&answer, 1}));
    ASSERT_EQ(answer.answer, ClaimVerdict::kGranted);
    EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
      return Run("gate show " + ref + " --json -c " + file).out.find("\"uncertain\":true") !=
             std::string::npos;
    }));
    EXPECT_THAT(Run("gate show " + ref + " -c " + file).out,
                ::testing::HasSubstr("uncertain: it may have had its effect"));
  }
  void ExpectGateResolves(const std::string& place, int code, const std::string& why) const {
    const Ended unknown =
        Run("gate resolve shop/" + std::string(64, '0') + " --applied --why seen " + place);
    EXPECT_EQ(unknown.code, code) << unknown.err;
    EXPECT_THAT(unknown.err, ::testing::HasSubstr(why)) << place;
    EXPECT_THAT(unknown.err, ::testing::HasSubstr("\"why\":\"seen\",\"result\":\"begins\""));
  }

  void ExpectForgottenOnceFinished(Window& window, const std::string& file) const {
    const ClaimRequest claim{"id-1", {0xABC, 5}, {0, 3, 17}, 0, 0};
    ClaimAnswer answer;
    ASSERT_TRUE(window.Claim({&claim, 1}, {&answer, 1}));
    const std::string forget = "window forget id-1 --why 'sent by mistake' -c " + file;
    const Ended held = Run(forget);
    EXPECT_EQ(held.code, 1);
    EXPECT_THAT(held.err, ::testing::HasSubstr("\nleft alone: a handler has it\n"));
    const Ended unknown = Run("window forget id-2 --why 'sent by mistake' -c " + file);
    EXPECT_EQ(unknown.code, 1);
    EXPECT_THAT(unknown.err, ::testing::HasSubstr("\nleft alone: nothing is known of this id\n"));
    const CompleteRequest complete{"id-1", {0xABC, 5}, {0, 3, 17}};
    MarkerChange change;
    ASSERT_TRUE(window.Complete({&complete, 1}, {&change, 1}));
    const Ended forgotten = Run(forget);
    EXPECT_EQ(forgotten.code, 0) << forgotten.err;
    EXPECT_THAT(forgotten.err, ::testing::HasSubstr("sent by mistake"));
    ASSERT_TRUE(window.Claim({&claim, 1}, {&answer, 1}));
    EXPECT_EQ(answer.answer, ClaimVerdict::kGranted);
    EXPECT_EQ(Run("window gc -c " + file).out, "0 ids were dropped\n");
  }

  // The scope of `member` has the usual times. `file_of` writes a service file with others.
  template <class FileOf>
  void ExpectOnlyAnOperatorShortens(Window& member, const FileOf& file_of) const {
    const std::string shorter = "  remember: 10s\n  skew: 1s\n";
    for (const char* command : {"check ", "window gc -c "}) {
      const Ended refused = Run(command + file_of(shorter));
      EXPECT_EQ(refused.code, 2) << command;
      EXPECT_THAT(refused.out + refused.err,
                  ::testing::AllOf(::testing::HasSubstr("has remember 168h, skew 1m; "),
                                   ::testing::HasSubstr("asks for remember 10s, skew 1s, "),
                                   ::testing::HasSubstr("`oncemq window shorten ")));
    }
    EXPECT_EQ(Run("window stat -c " + file_of(shorter)).code, 0) << "it forgets nothing";
    EXPECT_THAT(Run("window gc -c " + file_of("  remember: 200h\n")).out,
                ::testing::StartsWith("the scope now has remember 200h, skew 1m instead of "
                                      "remember 168h, skew 1m\n"));
    EXPECT_EQ(Run("window gc --json -c " + file_of("  remember: 200h\n")).out, "{\"dropped\":0}\n")
        << "nothing more is raised";
    EXPECT_EQ(member.Remember(RememberChange::kNone)->remember, std::chrono::hours(200));
    EXPECT_THAT(Run("doctor " + file_of("  remember: 200h\n")).out,
                ::testing::HasSubstr("\n  remember: 200h\n  skew: 1m\n"));
    EXPECT_EQ(Run("window shorten --why ' ' -c " + file_of(shorter)).code, 2);
    const Ended longer = Run("window shorten --why x -c " + file_of("  remember: 300h\n"));
    EXPECT_EQ(longer.code, 2);
    EXPECT_EQ(longer.out, "");
    EXPECT_THAT(longer.err,
                ::testing::AllOf(::testing::HasSubstr("has remember 200h, skew 1m; "),
                                 ::testing::HasSubstr("asks for remember 300h, skew 1m, "),
                                 ::testing::HasSubstr("a start with a longer time raises it")));
    EXPECT_EQ(member.Remember(RememberChange::kNone)->remember, std::chrono::hours(200));
    const Ended shortened = Run("window shorten --why 'disk full' -c " + file_of(shorter));
    EXPECT_EQ(shortened.code, 0) << shortened.err;
    EXPECT_EQ(shortened.out, "in force from now on: remember 10s, skew 1s\n");
    EXPECT_THAT(shortened.err, ::testing::HasSubstr("\"why\":\"disk full\""));
    EXPECT_THAT(Run("window stat -c " + file_of(shorter)).out,
                ::testing::HasSubstr("\n  remembers 10s, and 1s of skew\n"));
    EXPECT_EQ(Run("check " + file_of(shorter)).code, 0);
  }

  // The first line of `window show` and `window stat`.
  struct ShownWindow {
    std::string from;   // the first line of both
    std::string begin;  // the next ones of `stat`
    std::string json_from;
  };
  void ExpectShownAndCounted(Window& window, const std::string& file,
                             const ShownWindow& shown) const {
    const auto known = window.Open({.partition = 3, .topic = "payments", .owner = "payments"});
    ASSERT_TRUE(known.has_value()) << ToString(known.error());
    const OwnerEpoch owner_epoch = *window.RaiseOwnerEpoch(known->source, 3, 0);
    const ClaimRequest claim{"id-1", {0xABC, 5}, {known->source, 3, 17}, owner_epoch, 0};
    ClaimAnswer answer;
    ASSERT_TRUE(window.Claim({&claim, 1}, {&answer, 1}));
    EXPECT_EQ(Run("window show id-2 -c " + file).out,
              shown.from + "none: the window keeps nothing of this id\n");
    const Ended open = Run("window show id-1 -c " + file);
    EXPECT_EQ(open.code, 0) << open.err;
    EXPECT_EQ(open.out, shown.from +
                            "open\nfrom partition 3 of the topic number 0, offset 17\n"
                            "held by the claim 0000000000000abc0000000000000005\n");
    const CompleteRequest complete{"id-1", {0xABC, 5}, {known->source, 3, 17}};
    MarkerChange change;
    ASSERT_TRUE(window.Complete({&complete, 1}, {&change, 1}));
    const auto done = nlohmann::json::parse(Run("window show --json id-1 -c " + file).out);
    EXPECT_EQ(done["state"], "done");
    const Ended stat = Run("window stat -c " + file);
    EXPECT_EQ(stat.code, 0) << stat.err;
    EXPECT_THAT(stat.out, ::testing::StartsWith(shown.from + shown.begin));
    EXPECT_THAT(stat.out,
                ::testing::HasSubstr("\n  topic number 0, partition 3: knows [0, 0), announced "));
    EXPECT_THAT(stat.out, ::testing::HasSubstr(", level opaque, incarnation "));
    const auto json = nlohmann::json::parse(Run("window stat --json -c " + file).out);
    EXPECT_EQ(json["from"], shown.json_from);
    EXPECT_EQ(json["stores"][0]["ids_in_history"], 1);
    EXPECT_EQ(json["stores"][0]["partitions"][0]["partition"], 3);
    ExpectReportedAlikeByAService(window, stat.out);
  }

 private:
  void ExpectReportedAlikeByAService(Window& window, const std::string& stat) const {
    const IdleRuntime runtime;
    const std::string socket = dir_.path() / "admin.sock";
    const auto admin =
        AdminSocket::Open({.socket = socket}, {.runtime = &runtime, .window = &window});
    ASSERT_TRUE(admin.has_value()) << ToString(admin.error());
    const Ended asked = Run("window stat --socket '" + socket + "'");
    EXPECT_EQ(asked.out.substr(asked.out.find('\n')), stat.substr(stat.find('\n')));
  }
};

}  // namespace oncemq::testing
