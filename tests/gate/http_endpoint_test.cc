// SPDX-License-Identifier: Apache-2.0
// The example over HTTP: an order endpoint under double clicks, killed between its effect and the
// word on it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "oncemq/dedup/local_window.h"
#include "oncemq/gate/gate.h"
#include "support/eventually.h"
#include "support/loopback_port.h"
#include "support/process.h"
#include "support/temp_dir.h"
#ifdef ONCEMQ_WITH_POSTGRES
#include "oncemq/dedup/postgres_window.h"
#include "support/postgres_server.h"
#endif
#ifdef ONCEMQ_WITH_REDIS
#include "support/redis_server.h"
#endif

namespace oncemq::testing {
namespace {

constexpr milliseconds kLong(20'000);

class HttpEndpoint : public ::testing::Test {
 protected:
  struct Server {
    LoopbackPort port;
    std::unique_ptr<Process> process;
  };

  void Start(Server& server, const std::string& window, int receipt_ms) {
    server.process = std::make_unique<Process>(
        ProcessOptions{.command = {ONCEMQ_HTTP_GATE, std::to_string(server.port.number()), window,
                                   Orders(), std::to_string(receipt_ms)},
                       .log_file = dir_.path() / "log"});
    ASSERT_TRUE(Eventually(kLong, [&] {
      return static_cast<bool>(httplib::Client("127.0.0.1", server.port.number()).Get("/"));
    }));
  }
  static httplib::Result Post(const Server& server, const std::string& key,
                              const std::string& body = R"({"item": "tea", "pieces": 2})") {
    httplib::Client client("127.0.0.1", server.port.number());
    client.set_read_timeout(60, 0);
    const auto post = [&] {
      return client.Post("/orders", {{"Idempotency-Key", key}, {"X-Customer", "anna"}}, body,
                         "application/json");
    };
    httplib::Result answer = post();
    // As a client should where the window does not answer: the machine may be slow.
    static_cast<void>(Eventually(kLong, [&] {
      answer = answer && answer->status == 503 ? post() : std::move(answer);
      return !answer || answer->status != 503;
    }));
    return answer;
  }
  static nlohmann::json Problem(const httplib::Result& answer) {
    EXPECT_EQ(answer->get_header_value("Content-Type"), "application/problem+json");
    return nlohmann::json::parse(answer->body);
  }
  std::string Orders() const { return dir_.path() / "orders"; }
  std::string WindowDirectory() const { return dir_.path() / "window"; }
  // Lines: each is an order that was placed.
  int Placed() const {
    std::ifstream file(Orders());
    int lines = 0;
    for (std::string line; std::getline(file, line);) {
      lines++;
    }
    return lines;
  }
  // Sends it from a thread, and kills the server once the order is placed.
  void KillAfterTheEffect(Server& server, const std::string& key) {
    const int before = Placed();
    std::jthread client([&] { EXPECT_FALSE(Post(server, key)) << "no answer came"; });
    EXPECT_TRUE(Eventually(kLong, [&] { return Placed() > before; }));
    server.process->Kill9();
  }

  const TempDir dir_{TempDir::Quick()};
};

TEST_F(HttpEndpoint, OfManyClicksOneOrders) {
  Server server;
  ASSERT_NO_FATAL_FAILURE(Start(server, WindowDirectory(), 50));
  for (int round = 0; round < 5; round++) {
    const std::string key = "click-" + std::to_string(round);
    std::atomic<int> fresh{0};
    std::atomic<int> wrong{0};
    std::vector<std::jthread> clicks;
    for (int i = 0; i < 8; i++) {
      clicks.emplace_back([&] {
        const auto answer = Post(server, key);
        const bool copy = answer && (answer->status == 409 ||
                                     answer->get_header_value("Idempotent-Replayed") == "true");
        fresh += answer && answer->status == 201 && !copy ? 1 : 0;
        wrong += !answer || (answer->status != 201 && answer->status != 409) ? 1 : 0;
      });
    }
    clicks.clear();
    EXPECT_EQ(fresh, 1);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(Placed(), round + 1);
    const auto again = Post(server, "\"" + key + "\"", R"({"pieces": 2.0, "item": "tea"})");
    EXPECT_EQ(again->status, 201);
    EXPECT_EQ(again->get_header_value("Idempotent-Replayed"), "true");
    EXPECT_NE(again->get_header_value("Location"), "");
  }
  EXPECT_EQ(Post(server, "click-0", R"({"item": "coffee"})")->status, 422);
  const auto metrics = httplib::Client("127.0.0.1", server.port.number()).Get("/metrics");
  ASSERT_TRUE(metrics);
  EXPECT_NE(metrics->body.find("_answers_total{gate=\"orders\",answer=\"permitted\"} 5\n"),
            std::string::npos)
      << metrics->body;
  const auto no_key = Post(server, "not a key");
  EXPECT_EQ(no_key->status, 400);
  EXPECT_EQ(Problem(no_key)["detail"],
            "an Idempotency-Key without quotes has visible ASCII characters but for \" \\ , ;");
}

TEST_F(HttpEndpoint, AnAnswerOnAKeptConnectionWaitsForNoAcknowledgement) {
  Server server;
  ASSERT_NO_FATAL_FAILURE(Start(server, WindowDirectory(), 0));
  httplib::Client client("127.0.0.1", server.port.number());
  client.set_keep_alive(true);
  BootTime::duration best = kLong;
  for (int i = 0; i < 30; i++) {
    const BootTime before = BootNow();
    ASSERT_TRUE(client.Post("/orders", {{"Idempotency-Key", "k"}, {"X-Customer", "anna"}},
                            R"({"item": "tea"})", "application/json"));
    best = i > 0 ? std::min(best, BootNow() - before) : best;
  }
  EXPECT_LT(best, milliseconds(20));
}

// Whether the server ends the connection, whatever it answers before.
bool Ends(int connection) {
  return Eventually(kLong, [&] {
    char answer[512];
    ssize_t got = 1;
    while (got > 0) {
      got = ::recv(connection, answer, sizeof answer, MSG_DONTWAIT);
    }
    return got == 0 || errno == ECONNRESET;
  });
}

int ConnectTo(uint16_t port) {
  const int connection = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return connection;
}

// Behind a proxy that says the customer, it would be an order of somebody else.
TEST_F(HttpEndpoint, WhatFollowsARefusedRequestIsNoRequest) {
  Server server;
  ASSERT_NO_FATAL_FAILURE(Start(server, WindowDirectory(), 0));
  const std::string order = R"({"item": "tea"})";
  const std::string hidden =
      "POST /orders HTTP/1.1\r\nIdempotency-Key: h\r\nX-Customer: bob\r\n"
      "Content-Length: " +
      std::to_string(order.size()) + "\r\n\r\n" + order;
  const std::string length = "Content-Length: " + std::to_string(hidden.size()) + "\r\n\r\n";
  for (const std::string& begin :
       {"GET /orders HTTP/1.1\r\n" + length,
        std::string("POST /orders HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        "POST /orders HTTP/1.1\r\nX-Long: " + std::string(9'000, 'a') + "\r\n" + length}) {
    const int connection = ConnectTo(server.port.number());
    const std::string all = begin + hidden;
    ASSERT_EQ(::send(connection, all.data(), all.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(all.size()));
    EXPECT_TRUE(Ends(connection)) << begin.substr(0, 60);
    ::close(connection);
  }
  EXPECT_EQ(Placed(), 0);
}

TEST_F(HttpEndpoint, ARequestThatComesTooSlowlyIsEnded) {
  Server server;
  ASSERT_NO_FATAL_FAILURE(Start(server, WindowDirectory(), 0));
  const int slow = ConnectTo(server.port.number());
  const std::string head = "POST /orders HTTP/1.1\r\nX-Slow: ";
  ASSERT_EQ(::send(slow, head.data(), head.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(head.size()));
  // A byte every time that it is asked, until the server ends it.
  EXPECT_TRUE(Eventually(kLong, [&] {
    char answer = 0;
    return ::send(slow, "a", 1, MSG_NOSIGNAL) < 0 || ::recv(slow, &answer, 1, MSG_DONTWAIT) >= 0;
  }));
  EXPECT_TRUE(Ends(slow)) << "a second slow head on the same connection";
  ::close(slow);
}

TEST_F(HttpEndpoint, AnOrderThatIsNotOneIsRefused) {
  Server server;
  ASSERT_NO_FATAL_FAILURE(Start(server, WindowDirectory(), 0));
  EXPECT_EQ(Post(server, "a", R"({"item": "tea", "pieces": -1})")->status, 201);
  EXPECT_EQ(Post(server, "a", R"({"item": "tea", "pieces": 18446744073709551615})")->status, 422)
      << "no -1";
  const std::string deep =
      R"({"item": )" + std::string(30'000, '[') + std::string(30'000, ']') + "}";
  EXPECT_EQ(Post(server, "deep", deep)->status, 400);
  EXPECT_EQ(Post(server, "large", std::string(70'000, ' '))->status, 413);
  httplib::Client client("127.0.0.1", server.port.number());
  const auto nobody =
      client.Post("/orders", {{"Idempotency-Key", "b"}}, R"({"item": "tea"})", "application/json");
  EXPECT_EQ(nobody->status, 401);
  EXPECT_EQ(Placed(), 1);
}

// A pipe takes the line, and cannot be made durable.
TEST_F(HttpEndpoint, AnOrderThatIsWrittenAndPerhapsNotDurableIsUncertain) {
  ASSERT_EQ(::mkfifo(Orders().c_str(), 0600), 0);
  const int reader = ::open(Orders().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  Server server;
  ASSERT_NO_FATAL_FAILURE(Start(server, WindowDirectory(), 0));
  httplib::Client client("127.0.0.1", server.port.number());
  const auto post = [&] {
    return client.Post("/orders", {{"Idempotency-Key", "a"}, {"X-Customer", "anna"}},
                       R"({"item": "tea"})", "application/json");
  };
  EXPECT_EQ(post()->status, 503);
  const auto copy = post();
  ASSERT_EQ(copy->status, 409);
  EXPECT_EQ(Problem(copy)["state"], "uncertain");
  server.process->Kill9();
  ::close(reader);
}

TEST_F(HttpEndpoint, KilledBetweenEffectAndFinalNothingIsOrderedTwice) {
  Server server;
  ASSERT_NO_FATAL_FAILURE(Start(server, WindowDirectory(), 60'000));
  KillAfterTheEffect(server, "a");
  ASSERT_NO_FATAL_FAILURE(Start(server, WindowDirectory(), 0));
  std::string ref;
  for (int i = 0; i < 3; i++) {
    const auto copy = Post(server, "a");
    ASSERT_TRUE(copy);
    EXPECT_EQ(copy->status, 409);
    const nlohmann::json problem = Problem(copy);
    EXPECT_EQ(problem["state"], "uncertain");
    EXPECT_EQ(problem["safe_new_key"], false);
    ref = problem["ref"];
  }
  EXPECT_EQ(Post(server, "b")->status, 201) << "others go on";
  EXPECT_EQ(Placed(), 2);
  // The process that has the window resolves it; here it is this one, while the server is down.
  server.process->Kill9();
  {
    LocalWindowOptions options;
    options.directory = WindowDirectory();
    options.identity = "http_gate";
    options.level = Level::kOpaque;
    GateOptions gate_options;
    gate_options.application = "shop";
    const auto gate = *Gate::Open(*OpenLocalWindow(options, SystemClock::Instance()), gate_options);
    ASSERT_TRUE(gate->Resolve(ref, Gate::Outcome::kApplied, "the order is in the file"));
  }
  ASSERT_NO_FATAL_FAILURE(Start(server, WindowDirectory(), 0));
  const auto copy = Post(server, "a");
  EXPECT_EQ(copy->status, 410);
  EXPECT_EQ(Problem(copy)["state"], "finished");
  EXPECT_EQ(Placed(), 2);
}

// A window that several servers share, at an address.
struct SharedWindow {
  std::string name;
  std::function<std::optional<std::string>()> missing;
  std::function<std::shared_ptr<void>(std::string& url)> start;
  std::function<void(void* server)> kill = {};
  std::function<void(void* server)> restart = {};
};

template <class Server>
SharedWindow Killable(SharedWindow window) {
  window.kill = [](void* server) { static_cast<Server*>(server)->Kill9(); };
  window.restart = [](void* server) { static_cast<Server*>(server)->Restart(); };
  return window;
}

void PrintTo(const SharedWindow& window, std::ostream* out) {
  *out << window.name;
}

std::vector<SharedWindow> SharedWindows() {
  std::vector<SharedWindow> all;
#ifdef ONCEMQ_WITH_POSTGRES
  all.push_back(
      Killable<PostgresServer>({"postgres", PostgresServer::Missing, [](std::string& url) {
                                  std::shared_ptr<PostgresServer> server = PostgresServer::Start();
                                  url = server->url();
                                  EXPECT_TRUE(MigratePostgresWindow(url, "oncemq"));
                                  return server;
                                }}));
#endif
#ifdef ONCEMQ_WITH_REDIS
  all.push_back(Killable<RedisServer>({"redis", RedisServer::Missing, [](std::string& url) {
                                         std::shared_ptr<RedisServer> server = RedisServer::Start();
                                         url = server->url();
                                         return server;
                                       }}));
#endif
  return all;
}

class HttpEndpoints : public HttpEndpoint, public ::testing::WithParamInterface<SharedWindow> {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_BACKEND(GetParam().missing());
    store_ = GetParam().start(url_);
  }

  std::string url_;
  std::shared_ptr<void> store_;
  Server first_;
  Server second_;
};
INSTANTIATE_TEST_SUITE_P(Over, HttpEndpoints, ::testing::ValuesIn(SharedWindows()),
                         [](const auto& one) { return one.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(HttpEndpoints);

TEST_P(HttpEndpoints, OfClicksOnTwoServersOneOrders) {
  ASSERT_NO_FATAL_FAILURE(Start(first_, url_, 50));
  ASSERT_NO_FATAL_FAILURE(Start(second_, url_, 50));
  std::atomic<int> fresh{0};
  std::vector<std::jthread> clicks;
  for (int i = 0; i < 12; i++) {
    clicks.emplace_back([&, i] {
      const auto answer = Post(i % 2 == 0 ? first_ : second_, "a");
      fresh +=
          answer && answer->status == 201 && answer->get_header_value("Idempotent-Replayed").empty()
              ? 1
              : 0;
    });
  }
  clicks.clear();
  EXPECT_EQ(fresh, 1);
  EXPECT_EQ(Placed(), 1);
}

TEST_P(HttpEndpoints, AStoreThatIsAwayAtTheStartIsWaitedFor) {
  GetParam().kill(store_.get());
  ASSERT_NO_FATAL_FAILURE(Start(first_, url_, 0));
  httplib::Client client("127.0.0.1", first_.port.number());
  const auto early = client.Post("/orders", {{"Idempotency-Key", "a"}, {"X-Customer", "anna"}},
                                 R"({"item": "tea"})", "application/json");
  ASSERT_TRUE(early);
  EXPECT_EQ(early->status, 503);
  EXPECT_EQ(early->get_header_value("Retry-After"), "1");
  EXPECT_EQ(Placed(), 0);
  GetParam().restart(store_.get());
  EXPECT_EQ(Post(first_, "a")->status, 201);
  EXPECT_EQ(Placed(), 1);
}

#ifdef ONCEMQ_PROGRAM

TEST_P(HttpEndpoints, TheOtherServerTellsWhatTheKilledOneLeftAndTheCommandResolvesIt) {
  ASSERT_NO_FATAL_FAILURE(Start(first_, url_, 1'000));
  ASSERT_NO_FATAL_FAILURE(Start(second_, url_, 1'000));
  KillAfterTheEffect(first_, "a");
  std::string ref;
  // In progress until the lease of the dead one has ended.
  ASSERT_TRUE(Eventually(kLong, [&] {
    const auto copy = Post(second_, "a");
    const nlohmann::json problem = copy ? Problem(copy) : nlohmann::json();
    ref = problem.value("ref", "");
    return problem.value("state", "") == "uncertain";
  }));
  EXPECT_EQ(Placed(), 1);
  const auto command = [&](std::vector<std::string> words) {
    std::vector<std::string> whole{ONCEMQ_PROGRAM, "gate"};
    whole.insert(whole.end(), words.begin(), words.end());
    for (const char* word : {"--scope", "http_gate"}) {
      whole.emplace_back(word);
    }
    Process process({.command = whole,
                     .environment = {{"ONCEMQ_WINDOW", url_}},
                     .log_file = dir_.path() / "command"});
    return process.Wait(kLong);
  };
  EXPECT_EQ(command({"show", "shop/unknown"}), 2);
  EXPECT_EQ(command({"show", "shop/" + std::string(64, '0')}), 1);
  EXPECT_EQ(command({"show", ref}), 0);
  EXPECT_EQ(command({"resolve", ref, "--why", "no outcome"}), 2);
  EXPECT_EQ(command({"resolve", ref, "--not-applied", "--why", "the line is not complete"}), 0);
  EXPECT_EQ(command({"resolve", ref, "--applied", "--why", "again"}), 1);
  ASSERT_TRUE(Eventually(kLong, [&] { return Post(second_, "a")->status == 201; }));
  EXPECT_EQ(Placed(), 2);
}

#endif

}  // namespace
}  // namespace oncemq::testing
