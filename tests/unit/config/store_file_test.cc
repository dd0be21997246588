// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/store_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace oncemq {
namespace {

const std::string kDigest = "scrypt-1:" + std::string(32, 'a') + ":" + std::string(64, 'b');

ConfigSources Sources() {
  return {[](const std::string& name) -> std::optional<std::string> {
            return name == "PG_HOST" ? std::optional<std::string>("db1") : std::nullopt;
          },
          [](const std::string&) -> Result<std::string> {
            return Error{Code::kInvalid, Effect::kNone, "no secrets here"};
          }};
}

Result<StoreCatalogue> Parse(const std::string& yaml) {
  return ParseStores(yaml, "stores.yaml", Sources());
}

// What is said of a file in which one line stands for another.
std::string WhyNot(const std::string& yaml) {
  const auto catalogue = Parse(yaml);
  EXPECT_FALSE(catalogue.has_value()) << yaml;
  return catalogue ? "" : catalogue.error().message;
}

std::string File(const std::string& stores, const std::string& rest = "") {
  return "stores:\n" + stores + rest +
         "default: {locks: redis}\napplications:\n  payments: {secret: " + kDigest + "}\n";
}

constexpr char kRedis[] = "  redis: {address: \"redis://r\"}\n";

TEST(StoreFile, ReadsStoresPlansAndApplications) {
  const auto catalogue = Parse(R"(
stores:
  redis: {address: "redis://r:6379"}
  pg:
    address: postgres://${PG_HOST}/locks
  keeper: {address: "etcd://e1,e2,e3", anybody: true}
default:
  locks: [redis, pg]
  record: keeper
applications:
  payments:
    secret: )" + kDigest + R"(
    locks: pg
    scopes:
      settlement: {locks: [redis]}
      refunds: {}
  reports: {secret: )" + kDigest +
                               "}\n");
  ASSERT_TRUE(catalogue.has_value()) << ToString(catalogue.error());
  EXPECT_EQ(catalogue->stores.at("pg").address, "postgres://db1/locks");
  EXPECT_FALSE(catalogue->stores.at("pg").anybody);
  EXPECT_TRUE(catalogue->stores.at("keeper").anybody);
  ASSERT_TRUE(catalogue->plan);
  EXPECT_EQ(catalogue->plan->locks, (std::vector<std::string>{"redis", "pg"}));
  EXPECT_EQ(catalogue->plan->record, "keeper");
  const StoreApplication& payments = catalogue->applications.at("payments");
  EXPECT_EQ(payments.secret, kDigest);
  EXPECT_EQ(payments.plan->locks, std::vector<std::string>{"pg"});
  EXPECT_EQ(PlanOf(*catalogue, payments, "settlement")->locks[0], "redis");
  EXPECT_EQ(PlanOf(*catalogue, payments, "refunds")->locks[0], "pg");
  EXPECT_EQ(PlanOf(*catalogue, catalogue->applications.at("reports"), "")->record, "keeper");
}

TEST(StoreFile, TellsEachMistakeAtItsLine) {
  const std::string why = WhyNot("stores:\n  redis: {address: \"redis://r\", anybody: perhaps}\n" +
                                 std::string("  pg: {adress: \"postgres://p/l\"}\n") +
                                 "default: {locks: redis}\napplications:\n  payments: {}\n");
  EXPECT_NE(why.find("stores.yaml:2:"), std::string::npos) << why;
  EXPECT_NE(why.find("stores.yaml:3:"), std::string::npos) << why;
  EXPECT_NE(why.find("unknown key `adress`"), std::string::npos) << why;
  EXPECT_NE(why.find("stores.yaml:6:"), std::string::npos) << why;
  EXPECT_NE(why.find("`applications.payments.secret` is missing"), std::string::npos) << why;
}

TEST(StoreFile, RefusesWhatContradictsItself) {
  ASSERT_TRUE(Parse(File(kRedis)).has_value());
  ASSERT_TRUE(Parse(File("  redis: {address: \"rediss://r/1?ca=/a%20b&key=/c\"}\n")).has_value());
  ASSERT_TRUE(Parse(File("  redis: {address: \"redlocks://a,b,c\", anybody: true}\n")).has_value());
  const std::pair<std::string, std::string> wrong[] = {
      {"  m: {address: \"memcached://m\"}\n", "anybody: true"},
      {"  m: {address: \"etcd://m\"}\n", "anybody: true"},
      {"  m: {address: \"postgres://m\"}\n", "no database"},
      {"  m: {address: \"postgres://m?host=/d\"}\n", "no database"},
      {"  m: {address: \"postgres://m/?a=b\"}\n", "no database"},
      {"  m: {address: \"postgres://m/a%22b\"}\n", "letters, digits"},
      {"  m: {address: \"zookeeper://m/a'b\"}\n", "letters, digits"},
      {"  m: {address: \"mongo://m\"}\n", "begins like no store"},
      {"  m: {address: \"postgres-advisory://m/d\"}\n", "use one of redis://, "},
      {"  m: {address: \"mariadb-get-lock://m/d\"}\n", ", memcached://, memory:, file:"},
      {"  m: {address: \"redis://a b\"}\n", "without a blank"},
      {"  M: {address: \"redis://a\"}\n", "a store is called"},
      {"  redis: {address: \"redis://a\"}\n", "stands here twice"}};
  for (const auto& [line, why] : wrong) {
    EXPECT_NE(WhyNot(File(kRedis + line)).find(why), std::string::npos)
        << line << WhyNot(File(kRedis + line));
  }
  const std::pair<std::string, std::string> plans[] = {
      {"{locks: nowhere}", "not under `stores`"},
      {"{locks: [redis, other]}", "`record`"},
      {"{locks: [redis, redis], record: file}", "twice"},
      {"{locks: [redis, other], record: redis}", "keeps no records"},
      {"{locks: [redis, pg], record: pg}", "that is not in `locks`"},
      {"{locks: file}", "keeps no locks"},
      {"{record: file}", "`default.locks` is missing"},
      {"{locks: []}", "is empty"}};
  for (const auto& [plan, why] : plans) {
    std::string text =
        File(std::string(kRedis) +
             "  other: {address: \"redis://o\"}\n  pg: {address: \"postgres://p/l\"}\n"
             "  file: {address: \"file:/x\", anybody: true}\n");
    text.replace(text.find("{locks: redis}"), 14, plan);
    EXPECT_NE(WhyNot(text).find(why), std::string::npos) << plan << WhyNot(text);
  }
}

std::string With(const std::string& stores, const std::string& plan) {
  std::string text = File(stores);
  text.replace(text.find("{locks: redis}"), 14, plan);
  return text;
}

std::string Two(const std::string& x, const std::string& y) {
  return "  x: {address: \"" + x + "\"}\n  y: {address: \"" + y + "\"}\n" +
         "  file: {address: \"file:/x\", anybody: true}\n";
}

// One user of the server, and two passwords: the second grant locks the first one out.
TEST(StoreFile, RefusesTwoStoresOfOneServerForOneApplication) {
  const std::pair<const char*, const char*> same[] = {
      {"redis://h/0", "redis://h/1"},
      {"redis://h", "redis://H:6379"},
      {"redis://h:6380", "rediss://h:6380/2"},
      {"redis-sentinel://a,b/main", "redis-sentinel://b,c:1/main"},
      {"postgres://p/one", "postgres://p:5432/two?sslmode=require"},
      {"mariadb://m/one", "mariadb://m/two"},
      {"mariadb:///one?socket=/s", "mariadb:///two?socket=/s"}};
  for (const auto& [x, y] : same) {
    EXPECT_NE(WhyNot(With(Two(x, y), "{locks: [x, y], record: file}")).find("one password"),
              std::string::npos)
        << x << " " << y;
  }
  const std::pair<const char*, const char*> apart[] = {
      {"redis://h", "redis://h:6380"},
      {"redis://h", "redis://i"},
      {"redis-sentinel://a,b/main", "redis-sentinel://a,b/other"},
      {"postgres://h:1/one", "mariadb://h/two"},
      {"zookeeper://z1,z2/one", "zookeeper://z1,z2/two"},
      {"mariadb:///one?socket=/s", "mariadb:///two?socket=/t"}};
  for (const auto& [x, y] : apart) {
    const auto read = Parse(With(Two(x, y), "{locks: [x, y], record: file}"));
    EXPECT_TRUE(read.has_value()) << x << " " << y << ToString(read.error());
  }
  // One store each, or everybody may everything there.
  std::string text = With(Two("redis://h/0", "redis://h/1"), "{locks: x}");
  text.replace(text.rfind("}\n"), 1, ", scopes: {refunds: {locks: y}}}");
  EXPECT_NE(WhyNot(text).find("`applications.payments` has two stores of one server"),
            std::string::npos)
      << WhyNot(text);
  text = With(Two("redis://h/0", "redis://h/1"), "{locks: x}") + "  reports: {secret: " + kDigest +
         ", locks: y}\n";
  EXPECT_TRUE(Parse(text).has_value()) << "two users";
}

TEST(StoreFile, RefusesARecordThatIsOnAServerOfItsLocks) {
  const std::pair<const char*, const char*> same[] = {
      {"postgres://p/locks", "postgres://p:5432/records"},
      {"etcd://e1,e2,e3", "etcd://e3:2379,e4"},
      {"zookeeper://z1,z2/locks", "zookeeper://z2/records"}};
  for (const auto& [locks, record] : same) {
    std::string stores = Two(locks, record);
    for (size_t at = 0; (at = stores.find("\"}", at)) != std::string::npos; at += 2) {
      stores.replace(at, 2, "\", anybody: true}");
    }
    EXPECT_NE(WhyNot(With(stores, "{locks: x, record: y}")).find("on a server of its own"),
              std::string::npos)
        << locks << " " << record;
  }
  EXPECT_TRUE(
      Parse(With(Two("postgres://p/locks", "postgres://q/records"), "{locks: x, record: y}"))
          .has_value());
}

TEST(StoreFile, RefusesApplicationsThatCannotBeToldApart) {
  for (const char* name : {"Payments", "pay.ments", "pay_ments", "-pay", "\"\"",
                           "a12345678901234567890123456789012"}) {
    std::string text = File(kRedis);
    text.replace(text.find("payments"), 8, name);
    EXPECT_NE(WhyNot(text).find("an application is called"), std::string::npos) << WhyNot(text);
  }
  std::string text = File(kRedis);
  text.replace(text.rfind("}\n"), 1, ", scopes: {a.b: {}}}");
  EXPECT_NE(WhyNot(text).find("a scope is called"), std::string::npos) << WhyNot(text);
}

TEST(StoreFile, AnApplicationWithoutStoresIsRefused) {
  std::string text = File(kRedis);
  text.erase(text.find("default:"), 24);
  EXPECT_NE(WhyNot(text).find("has no stores"), std::string::npos) << WhyNot(text);
}

TEST(StoreFile, NeverRepeatsWhatMayBeASecret) {
  std::string text = File("  redis: {address: \"redis://u:hunter2@r\"}\n");
  text.replace(text.find(kDigest), kDigest.size(), "hunter3");
  const std::string why = WhyNot(text);
  EXPECT_EQ(why.find("hunter"), std::string::npos) << why;
  EXPECT_NE(why.find("holds a user"), std::string::npos) << why;
  EXPECT_NE(why.find("must be the digest"), std::string::npos) << why;
}

TEST(StoreFile, AnyOtherTextIsRefused) {
  for (const std::string& text :
       {std::string(), std::string("stores: []\napplications: {}\n"), std::string("- a\n"),
        std::string("stores: &a {x: *a}\napplications: {}\n"), std::string(300'000, 'a'),
        std::string("stores: {a: }\napplications: {}\n"), std::string("a\0b", 3),
        std::string("stores: {a: {address: {b: c}}}\napplications: {}\n"),
        std::string("stores: {[a]: {address: b}}\napplications: {}\n"),
        std::string("stores: {}\napplications: {}\nwindows: {}\n"),
        std::string("stores: {}\napplications: {}\n---\nstores: {}\n")}) {
    EXPECT_FALSE(Parse(text).has_value()) << text.substr(0, 100);
  }
}

TEST(StoreFile, TheOneInTheDocumentIsAccepted) {
  std::ifstream file(ONCEMQ_SOURCE_DIR "/docs/stores.md");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t begin = page.find("```yaml\n") + 8;
  std::string sample = page.substr(begin, page.find("```", begin) - begin);
  for (size_t at = 0; (at = sample.find("scrypt-1:...")) != std::string::npos;) {
    sample.replace(at, 12, kDigest);
  }
  const auto catalogue = Parse(sample);
  ASSERT_TRUE(catalogue.has_value()) << ToString(catalogue.error());
  EXPECT_EQ(catalogue->applications.size(), 2u);
}

TEST(StoreFile, AFileThatIsNotThereIsNotFound) {
  const auto catalogue = LoadStores("/nowhere/stores.yaml");
  ASSERT_FALSE(catalogue.has_value());
  EXPECT_EQ(catalogue.error().code, Code::kNotFound);
}

}  // namespace
}  // namespace oncemq
