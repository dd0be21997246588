// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/trace.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "oncemq/framework/handler.h"

namespace oncemq {
namespace {

using Headers = std::map<std::string, std::string, std::less<>>;

class HeadersOnly final : public Message {
 public:
  explicit HeadersOnly(Headers headers) : headers_(std::move(headers)) {}
  std::string_view topic() const override { return "topic"; }
  int32_t partition() const override { return 0; }
  int64_t offset() const override { return 0; }
  int64_t timestamp_ms() const override { return -1; }
  std::optional<std::string_view> key() const override { return std::nullopt; }
  std::optional<std::string_view> value() const override { return std::nullopt; }
  std::optional<std::string_view> header(std::string_view name) const override {
    const auto found = headers_.find(name);
    return found == headers_.end() ? std::nullopt : std::optional<std::string_view>(found->second);
  }
  std::vector<MessageHeader> headers() const override { return {}; }

 private:
  Headers headers_;
};

constexpr char kParent[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

bool IsTraced(const std::string& parent) {
  return static_cast<bool>(TraceOf(HeadersOnly(Headers{{"traceparent", parent}})));
}

TEST(Trace, BothHeadersReachTheHandler) {
  const HeadersOnly message(Headers{{"traceparent", kParent}, {"tracestate", "a=1,b=2"}});
  const std::stop_token stop;
  const Context context("id", Token{}, 1, 1, false, stop, nullptr, nullptr, &message);
  ASSERT_TRUE(context.trace());
  EXPECT_EQ(context.trace().parent, kParent);
  EXPECT_EQ(context.trace().state, "a=1,b=2");
  EXPECT_EQ(context.trace().id(), "4bf92f3577b34da6a3ce929d0e0e4736");
}

TEST(Trace, WithoutTheFirstHeaderThereIsNone) {
  const TraceContext trace = TraceOf(HeadersOnly(Headers{{"tracestate", "a=1"}}));
  EXPECT_FALSE(trace);
  EXPECT_EQ(trace.state, "");
  EXPECT_EQ(trace.id(), "");
  const std::stop_token stop;
  EXPECT_FALSE(Context("id", Token{}, 1, 1, false, stop).trace());
}

TEST(Trace, OneThatIsNotWellFormedCountsAsNone) {
  ASSERT_TRUE(IsTraced(kParent));
  EXPECT_TRUE(IsTraced("01" + std::string(kParent).substr(2) + "-later"));
  for (const std::string& parent : {
           std::string(),
           std::string("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"),
           kParent + std::string("-more"),
           "ff" + std::string(kParent).substr(2),
           "01" + std::string(kParent).substr(2) + "later",
           std::string("00-00000000000000000000000000000000-00f067aa0ba902b7-01"),
           std::string("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"),
           std::string("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"),
           std::string("00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
           "01" + std::string(kParent).substr(2) + "-a\r\nevil: 1",
       }) {
    EXPECT_FALSE(IsTraced(parent)) << parent;
  }
}

TEST(Trace, AStateThatCouldAddAHeaderIsLeftOut) {
  const auto state = [](const std::string& text) {
    const HeadersOnly message(Headers{{"traceparent", kParent}, {"tracestate", text}});
    const TraceContext trace = TraceOf(message);
    return trace ? std::string(trace.state) : "no trace";
  };
  EXPECT_EQ(state("a=1"), "a=1");
  EXPECT_EQ(state("a=1\r\nevil: 1"), "");
  EXPECT_EQ(state(std::string("a=\0b", 4)), "");
  EXPECT_EQ(state(std::string(10'000, 'a')), "");
}

}  // namespace
}  // namespace oncemq
