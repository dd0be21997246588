// SPDX-License-Identifier: Apache-2.0
// A seal that comes while names are asked for in the epoch before it.
#include <atomic>
#include <thread>

#include "sql_fixture.h"
#include "support/eventually.h"

namespace oncemq::testing {
namespace {

class SqlSealTest : public SqlTest {};

// The swap has begun when the seal comes, and is held up by somebody who looks at its row. Either
// it is done before the seal is, or it is not done.
TEST_P(SqlSealTest, ASealAndASwapThatHasBegunExcludeEachOther) {
  const auto locks = OpenLocks(milliseconds(20'000));
  const LockClaim former{"x", {7, 1}};
  ASSERT_TRUE(locks->Request(RequestOf(1)));
  Freed freed{};
  ASSERT_TRUE(locks->Free({&former, 1}, {&freed, 1}));
  client();
  auto holds = client().Begin();
  ASSERT_TRUE(holds.has_value()) << ToString(holds.error());
  const std::string text = "SELECT name FROM oncemq_locks_v1 WHERE " + Here(true) + " FOR UPDATE";
  ASSERT_TRUE((*holds)->Run({text, {std::string_view(space_), std::string_view("x")}}));
  std::atomic<bool> sealed{false};
  LockAnswer answer;
  std::jthread requests([&] {
    const auto got = locks->Request(RequestOf(2));
    ASSERT_TRUE(got.has_value()) << ToString(got.error());
    answer = *got;
  });
  ASSERT_TRUE(Eventually(kPatience, [&] { return Waiting() > 0; }));
  std::jthread seals([&] {
    const auto epoch = locks->Seal(1);
    sealed = true;
    ASSERT_TRUE(epoch.has_value()) << ToString(epoch.error());
  });
  ASSERT_TRUE(Eventually(kPatience, [&] { return sealed || Waiting() != 1; }));
  const bool sealed_first = sealed;
  holds->reset();  // rolls back: the row is as it was
  requests.join();
  seals.join();
  if (sealed_first) {
    EXPECT_EQ(answer.kind, LockAnswer::Kind::kSealed) << "granted behind the seal";
  }
}

// The swap has read all that it needs, and is held up before it writes.
TEST_P(SqlSealTest, ASealWaitsForASwapThatHasLookedAtTheFormerOne) {
  StartOwn();
  const auto locks = OpenLocks(milliseconds(20'000));
  ASSERT_TRUE(locks->Request(RequestOf(1, "there")));
  Sql("CREATE TABLE gate (n bigint)");
  Sql("INSERT INTO gate VALUES (0)");
  const bool postgres = client().dialect() == SqlDialect::kPostgres;
  if (postgres) {
    Sql("CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN UPDATE gate SET n = n + 1; RETURN NEW; END'");
    Sql("CREATE TRIGGER passes BEFORE INSERT OR UPDATE ON oncemq_locks_v1 FOR EACH ROW "
        "EXECUTE FUNCTION pass()");
  } else {
    for (const std::string when : {"INSERT", "UPDATE"}) {
      Sql("CREATE TRIGGER passes_" + when + " BEFORE " + when +
          " ON oncemq_locks_v1 FOR EACH ROW UPDATE gate SET n = n + 1");
    }
  }
  uint32_t epoch = 0;
  for (const std::string name : {"there", "new"}) {
    auto holds = client().Begin();
    ASSERT_TRUE(holds.has_value()) << ToString(holds.error());
    ASSERT_TRUE((*holds)->Run({"UPDATE gate SET n = n + 1"}));
    LockAnswer answer;
    std::jthread requests([&] {
      AcquireRequest request = RequestOf(2, name);
      request.epoch = epoch;
      const auto got = locks->Request(request);
      EXPECT_TRUE(got.has_value()) << ToString(got.error());
      answer = got.value_or(LockAnswer{});
    });
    ASSERT_TRUE(Eventually(kPatience, [&] { return Waiting() > 0; }));
    std::atomic<bool> sealed{false};
    std::jthread seals([&] {
      EXPECT_TRUE(locks->Seal(epoch + 1).has_value());
      sealed = true;
    });
    ASSERT_TRUE(Eventually(kPatience, [&] { return sealed || Waiting() > 1; }));
    EXPECT_FALSE(sealed) << name;
    holds->reset();
    requests.join();
    seals.join();
    EXPECT_NE(answer.kind, LockAnswer::Kind::kSealed) << "it was first";
    epoch++;
  }
}

// Whoever was granted a name in the former epoch was it before the seal was answered.
TEST_P(SqlSealTest, NoAskOfAFormerEpochIsGrantedBehindASeal) {
  const auto locks = OpenLocks(milliseconds(20'000));
  for (uint32_t epoch = 1; epoch <= 8; epoch++) {
    std::vector<std::string> granted[4];
    std::vector<std::jthread> threads;
    std::atomic<int> asked{0};
    for (uint64_t t = 0; t < 4; t++) {
      threads.emplace_back([&, t] {
        for (uint64_t i = 0;; i++) {
          const std::string name = std::to_string(epoch) + "/" + std::to_string(t * 1'000 + i);
          AcquireRequest request = RequestOf(epoch * 100'000 + t * 1'000 + i, name);
          request.epoch = epoch - 1;
          const auto answer = locks->Request(request);
          ASSERT_TRUE(answer.has_value()) << ToString(answer.error());
          if (answer->kind == LockAnswer::Kind::kSealed) {
            return;
          }
          asked++;
          granted[t].push_back(name);
        }
      });
    }
    ASSERT_TRUE(Eventually(kPatience, [&] { return asked > 20; }));
    ASSERT_TRUE(locks->Seal(epoch));
    const auto names = locks->Names("", 100'000);
    ASSERT_TRUE(names.has_value()) << ToString(names.error());
    threads.clear();
    for (const auto& some : granted) {
      for (const std::string& name : some) {
        EXPECT_TRUE(std::binary_search(names->begin(), names->end(), name)) << name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sql, SqlSealTest, ::testing::ValuesIn(SqlWorlds()),
                         [](const auto& tested) { return std::string(tested.param.name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SqlSealTest);

}  // namespace
}  // namespace oncemq::testing
