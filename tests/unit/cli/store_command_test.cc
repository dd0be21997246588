// SPDX-License-Identifier: Apache-2.0
// `oncemq store`, and the commands that open stores by a catalogue, as far as no store is asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "command_fixture.h"
#include "oncemq/locks/lock_engines.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class StoreCommand : public Command {
 protected:
  // Registers payments, in a catalogue of three stores.
  void SetUp() override {
    const Ended enrolled = Run("store register payments --secret-file '" + secret_.string() + "'");
    ASSERT_EQ(enrolled.code, 0) << enrolled.err;
    std::ofstream(stores_) << "stores:\n  redis: {address: \"redis://127.0.0.1:1\"}\n"
                           << "  zk: {address: \"zookeeper://127.0.0.1:1\"}\n"
                           << "  keeper: {address: \"file:/nowhere\", anybody: true}\n"
                           << "default: {locks: [redis, zk], record: keeper}\napplications:\n"
                           << enrolled.out;
  }
  std::string Here() const {
    return " --catalogue '" + stores_.string() + "' --application payments --secret-file '" +
           secret_.string() + "'";
  }
  std::string Secret() const {
    std::string text = ReadAll(secret_);
    return text.substr(0, text.find('\n'));
  }

  const std::filesystem::path stores_ = dir_.path() / "stores.yaml";
  const std::filesystem::path secret_ = dir_.path() / "secret";
};

TEST_F(StoreCommand, RegistersWithASecretThatOnlyItsOwnerReads) {
  struct stat info {};
  ASSERT_EQ(stat(secret_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(Secret().size(), 64u);
  const std::string secret = Secret();
  const Ended again = Run("store register reports --secret-file '" + secret_.string() + "'");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(Secret(), secret) << "one that is there is kept";
  EXPECT_THAT(again.out, StartsWith("  reports:\n    secret: scrypt-1:"));
  EXPECT_THAT(again.out + again.err, Not(HasSubstr(secret)));
  EXPECT_EQ(Run("store register Reports --secret-file /x").code, 2);
  chmod(secret_.c_str(), 0644);
  const Ended open = Run("store register reports --secret-file '" + secret_.string() + "'");
  EXPECT_EQ(open.code, 2);
  EXPECT_THAT(open.err, HasSubstr("chmod 600"));
}

TEST_F(StoreCommand, SaysWhatACatalogueMeansOrWhatIsWrong) {
  const Ended check = Run("store check '" + stores_.string() + "'");
  EXPECT_EQ(check.code, 0) << check.err;
  EXPECT_THAT(check.out, HasSubstr("keeper: file:/nowhere  (refuses nobody)\n"));
  EXPECT_THAT(check.out, HasSubstr("payments: locks in redis, then zk; the record in keeper; "
                                   "space payments\n"));
  const auto json = nlohmann::json::parse(Run("store check --json '" + stores_.string() + "'").out);
  EXPECT_EQ(json["stores"].size(), 3u);
  EXPECT_EQ(json["access"][0]["locks"][0], "redis");
  std::ofstream(stores_, std::ios::app) << "windows: {}\n";
  const Ended wrong = Run("store check '" + stores_.string() + "'");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("stores.yaml:9:1: unknown key `windows`"));
  EXPECT_EQ(Run("store check /nowhere").code, 2);
  EXPECT_EQ(Run("store check").code, 2);
}

TEST_F(StoreCommand, RefusesLocksOfADatabaseSessionAndListsTheStoresThatThereAre) {
  std::string text = ReadAll(stores_) + "    locks: [redis, held]\n    record: keeper\n";
  text.insert(text.find("  zk:"),
              "  held: {address: \"postgres-advisory://127.0.0.1:1/d\", anybody: true}\n");
  std::ofstream(stores_) << text;
  const Ended check = Run("store check '" + stores_.string() + "'");
  EXPECT_EQ(check.code, 2) << check.out;
  EXPECT_THAT(check.err, HasSubstr("`stores.held.address` begins like no store that we know"));
  EXPECT_THAT(check.err, HasSubstr("use one of redis://, "));
}

TEST_F(StoreCommand, RefusesAPlanOfAStoreThatThisBuildCannotReach) {
  std::string text = ReadAll(stores_) + "    locks: [tls, zk]\n    record: keeper\n";
  text.insert(text.find("  zk:"), "  tls: {address: \"rediss://127.0.0.1:1\"}\n");
  std::ofstream(stores_) << text;
  const bool reached = CapabilitiesAt("rediss://127.0.0.1:1").has_value();
  const Ended check = Run("store check '" + stores_.string() + "'");
  EXPECT_EQ(check.code, reached ? 0 : 2) << check.out;
  EXPECT_THAT(check.err, HasSubstr(reached ? "" : "payments: the store tls"));
}

TEST_F(StoreCommand, PrintsStatementsOnStandardOutputAndNoSecret) {
  const Ended grants = Run("store grants" + Here());
  EXPECT_EQ(grants.code, 0) << grants.err;
  const size_t second = grants.out.find('\n') + 1;
  EXPECT_THAT(grants.out, StartsWith("ACL SETUSER oncemq_payments reset on #"));
  EXPECT_THAT(grants.out.substr(second),
              StartsWith("create /payments \"\" digest:oncemq_payments:"));
  EXPECT_THAT(grants.err, HasSubstr("for redis-cli, as an administrator"));
  EXPECT_THAT(grants.err, HasSubstr("refuses nobody"));
  EXPECT_THAT(grants.out + grants.err, Not(HasSubstr(Secret())));
  EXPECT_EQ(Run("store grants --store zk" + Here()).out, grants.out.substr(second));
  EXPECT_EQ(Run("store grants --store other" + Here()).code, 2);
}

TEST_F(StoreCommand, RefusesWhoIsNotAuthorised) {
  const std::string other = "'" + (dir_.path() / "other").string() + "'";
  EXPECT_EQ(Run("store register x --secret-file " + other).code, 0);
  const std::string here = "' --application payments --secret-file " + other;
  for (const char* command :
       {"store grants", "lock ls", "lock show x", "lock switch", "lock bench"}) {
    const Ended refused = Run(command + (" --catalogue '" + stores_.string()) + here);
    EXPECT_EQ(refused.code, 2) << command << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("not the secret of the application payments")) << command;
  }
  EXPECT_THAT(Run("lock ls --scope x" + Here()).err, HasSubstr("may not use this scope"));
  EXPECT_THAT(Run("lock ls --at redis://h" + Here()).err, HasSubstr("there is no --at, "));
  EXPECT_THAT(Run("lock ls --space s" + Here()).err, HasSubstr("there is no --at, "));
  EXPECT_THAT(Run("lock ls --catalogue '" + stores_.string() + "'").err,
              HasSubstr("--application"));
}

TEST_F(StoreCommand, AServiceFileIsCheckedAgainstItsCatalogue) {
  const std::string service =
      std::string(kService) + "locks: {catalogue: stores.yaml, application: ";
  const Ended right = Run("check -c " + Write(service + "payments, secret: " + Secret() + "}\n"));
  EXPECT_EQ(right.code, 0) << right.err;
  EXPECT_THAT(right.out, HasSubstr("secret: \"(not shown)\""));
  EXPECT_THAT(right.out, Not(HasSubstr(Secret())));
  const Ended wrong =
      Run("check -c " + Write(service + "payments, secret: another secret of it}\n"));
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("not the secret of the application payments"));
  const Ended run = Run("run --handler count --consume-without-effects -c " +
                        Write(service + "reports, secret: " + Secret() + "}\n"));
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("no such application"));
}

}  // namespace
}  // namespace oncemq::testing
