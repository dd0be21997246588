// SPDX-License-Identifier: Apache-2.0
// The adapter for cpp-httplib: however a body is sent, another one under the key is a conflict.
#include "http_gate/httplib_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "oncemq/dedup/memory_window.h"
#include "support/eventually.h"

namespace oncemq::testing {
namespace {

class HttplibGate : public ::testing::Test {
 protected:
  HttplibGate() {
    const auto take = [this](const httplib::Request&, httplib::Response& response, const Ticket&) {
      ran_++;
      response.status = 201;
      return std::optional<Effect>();
    };
    const auto gated = Gated(OpenGate(), {.route = "/orders"}, take);
    server_.Post("/orders", gated);
    server_.Put("/orders", gated);
    server_.Patch("/orders", gated);
    server_.Delete("/orders", gated);
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::jthread([this] { server_.listen_after_bind(); });
    EXPECT_TRUE(Eventually(milliseconds(20'000), [&] { return server_.is_running(); }));
  }
  ~HttplibGate() override { server_.stop(); }

  static std::shared_ptr<HttpGate> OpenGate() {
    std::shared_ptr<Window> window =
        *OpenMemoryWindow({.level = Level::kOpaque, .remember = 1'000}, SystemClock::Instance());
    GateOptions options;
    options.application = "test";
    options.within = milliseconds(60'000);  // of a slow machine
    std::shared_ptr<Gate> gate = *Gate::Open(std::move(window), options);
    return std::make_shared<HttpGate>(std::move(gate), HttpGateOptions{.one_tenant = true});
  }

  using Send = std::function<httplib::Result(httplib::Client&, const httplib::Headers&)>;
  // Under one key: `first` runs, its copy is answered from the store, and each of `others` is
  // another request.
  void ExpectConflicts(const std::string& key, const Send& first, const std::vector<Send>& others) {
    httplib::Client client("127.0.0.1", port_);
    const httplib::Headers headers{{"Idempotency-Key", key}};
    const int before = ran_;
    EXPECT_EQ(first(client, headers)->status, 201);
    const auto copy = first(client, headers);
    EXPECT_EQ(copy->status, 201);
    EXPECT_EQ(copy->get_header_value("Idempotent-Replayed"), "true");
    for (size_t i = 0; i < others.size(); i++) {
      EXPECT_EQ(others[i](client, headers)->status, 422) << key << ", number " << i;
    }
    EXPECT_EQ(ran_, before + 1);
  }

  httplib::Server server_;
  std::atomic<int> ran_{0};
  int port_ = 0;
  std::jthread thread_;
};

TEST_F(HttplibGate, APartOfAFormThatDiffersMakesAnotherRequest) {
  const auto form = [](httplib::MultipartFormDataItems parts) -> Send {
    return [parts = std::move(parts)](httplib::Client& client, const httplib::Headers& headers) {
      return client.Post("/orders", headers, parts);  // each time with another boundary
    };
  };
  const httplib::MultipartFormData item{"item", "tea", "", ""};
  const httplib::MultipartFormData file{"file", "bytes", "a.txt", "text/plain"};
  ExpectConflicts("form", form({item, file}),
                  {form({{"item", "coffee", "", ""}, file}),
                   form({item, {"file", "other", "a.txt", "text/plain"}}),
                   form({item, {"file", "bytes", "b.txt", "text/plain"}}),
                   form({item, {"file", "bytes", "a.txt", "text/html"}}),
                   form({{"name", "tea", "", ""}, file}), form({item}), form({item, file, file})});
  ExpectConflicts("twice", form({item, {"item", "coffee", "", ""}}),
                  {form({{"item", "coffee", "", ""}, item})});
}

TEST_F(HttplibGate, ABodyThatDiffersMakesAnotherRequestHoweverItIsSent) {
  const auto params = [](const std::string& item) -> Send {
    return [item](httplib::Client& client, const httplib::Headers& headers) {
      return client.Post("/orders", headers, httplib::Params{{"item", item}});
    };
  };
  ExpectConflicts("params", params("tea"), {params("coffee")});
  const auto chunked = [](const std::string& item) -> Send {
    return [item](httplib::Client& client, const httplib::Headers& headers) {
      return client.Post(
          "/orders", headers,
          [&](size_t, httplib::DataSink& sink) {
            sink.write(item.data(), item.size());
            sink.done();
            return true;
          },
          "text/plain");
    };
  };
  ExpectConflicts("chunked", chunked("tea"), {chunked("coffee")});
  using Method = httplib::Result (httplib::Client::*)(const std::string&, const httplib::Headers&,
                                                      const std::string&, const std::string&);
  int number = 0;
  for (const Method method : {Method(&httplib::Client::Put), Method(&httplib::Client::Patch),
                              Method(&httplib::Client::Delete)}) {
    const auto plain = [method](const std::string& item) -> Send {
      return [item, method](httplib::Client& client, const httplib::Headers& headers) {
        return (client.*method)("/orders", headers, item, "text/plain");
      };
    };
    ExpectConflicts("plain-" + std::to_string(number++), plain("tea"), {plain("coffee")});
  }
}

}  // namespace
}  // namespace oncemq::testing
