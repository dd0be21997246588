// SPDX-License-Identifier: Apache-2.0
// `oncemq lock ls` without a space, as far as no store is asked.
#include "lock_spaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "command_fixture.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;

class LockSpaces : public Command {
 protected:
  void SetUp() override {
    const auto secret = [&](const std::string& name) {
      return Run("store register " + name + " --secret-file '" + (dir_.path() / name).string() +
                 "'")
          .out;
    };
    std::ofstream(stores_) << "stores: {redis: {address: \"redis://127.0.0.1:1\"}}\n"
                           << "default: {locks: redis}\napplications:\n"
                           << secret("pay") << "    scopes: {refunds: {}, audit: {}}\n"
                           << secret("pay-2");
  }
  std::string Catalogue() const { return " --catalogue '" + stores_.string() + "'"; }

  const std::filesystem::path stores_ = dir_.path() / "stores.yaml";
};

constexpr char kSpacesOfPay[] =
    "pay: of the application pay\n"
    "pay-2: of the application pay-2\n"
    "pay.audit: of the application pay, scope audit\n"
    "pay.refunds: of the application pay, scope refunds\n";

TEST_F(LockSpaces, OfACatalogueAreListedToAnybodyWhoReadsIt) {
  const Ended listed = Run("lock ls" + Catalogue());
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_EQ(listed.out, kSpacesOfPay);
  EXPECT_THAT(listed.err, HasSubstr("say --space with --at; or --application"));
  const std::string lines = Run("lock ls --json --limit 1 --after pay-2" + Catalogue()).out;
  EXPECT_EQ(nlohmann::json::parse(lines),
            nlohmann::json({{"space", "pay.audit"}, {"application", "pay"}, {"scope", "audit"}}));
}

TEST_F(LockSpaces, OfAServiceFileAreItsOwnOrThoseOfItsCatalogue) {
  const std::string service(kService);
  const Ended one = Run("lock ls -c " + Write(service + "locks: {at: 'redis://h', space: jobs}\n"));
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(one.out, "'jobs': of the service file\n");
  EXPECT_EQ(Run("lock ls -c " + Write(service + "locks: {catalogue: stores.yaml, application: pay, "
                                                "secret: not the right one}\n"))
                .out,
            kSpacesOfPay);
  const Ended none = Run("lock ls -c " + Write(service));
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("`locks` names no store"));
  const Ended wrong = Run("lock ls -c " + Write("kafka: 5\ntopics: a\n"));
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("service.yaml:1:8: "));
  EXPECT_EQ(Run("lock ls -c /no/such/file.yaml").code, 2);
}

TEST_F(LockSpaces, AreNotListedWhereOneSpaceIsMeant) {
  EXPECT_EQ(Run("lock ls --space s -c " + Write(kService)).code, 2) << "one of them";
  EXPECT_EQ(Run("lock ls -c " + Write(kService) + Catalogue()).code, 2) << "one of them";
  EXPECT_THAT(Run("lock ls --application pay" + Catalogue()).err, HasSubstr("--secret-file"));
  EXPECT_THAT(Run("lock ls --scope audit" + Catalogue()).err, HasSubstr("--application"));
}

TEST_F(LockSpaces, AreToldToStandOnAFileByTheHelp) {
  EXPECT_THAT(Run("lock ls --help").out, HasSubstr("A store does not list its spaces."));
}

TEST_F(LockSpaces, ANameThatNoLockCanHaveIsRefusedBeforeAStoreIsOpened) {
  const std::string at = " --at redis://127.0.0.1:1";
  for (const char* command :
       {"lock show", "lock ask-back", "lock election", "lock release --fence 1"}) {
    const Ended empty = Run(command + (" ''" + at));
    EXPECT_EQ(empty.code, 2) << command;
    EXPECT_THAT(empty.err, HasSubstr("has 1 to 1024 bytes, not 0")) << command;
    const Ended longer = Run(command + (" " + std::string(1'025, 'n') + at));
    EXPECT_EQ(longer.code, 2) << command;
    EXPECT_THAT(longer.err, HasSubstr("has 1 to 1024 bytes, not 1025")) << command;
  }
}

}  // namespace
}  // namespace oncemq::testing
