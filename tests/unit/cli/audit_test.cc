// SPDX-License-Identifier: Apache-2.0
// What is said to the system's log. Its functions are these here, and not the C library's: so
// <syslog.h> is not included.
#include "audit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

namespace {

struct Line {
  int priority;
  std::string text;
};

std::vector<Line>& Lines() {
  static std::vector<Line> lines;
  return lines;
}

[[gnu::format(printf, 2, 0)]] void Keep(int priority, const char* format, va_list arguments) {
  char text[4'096];
  vsnprintf(text, sizeof(text), format, arguments);
  Lines().push_back({priority, text});
}

}  // namespace

extern "C" {
[[gnu::format(printf, 2, 3)]] void syslog(int priority, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Keep(priority, format, arguments);
  va_end(arguments);
}
// As it is called where the C library checks what is formatted.
[[gnu::format(printf, 3, 4)]] void __syslog_chk(int priority, int, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Keep(priority, format, arguments);
  va_end(arguments);
}
}

namespace oncemq::testing {
namespace {

TEST(Audit, AChangeIsSaidToTheSystemsLog) {
  Lines().clear();
  AuditLocks("lock release", "a%s\n\x1b", "3.17", "released");
  ASSERT_EQ(Lines().size(), 1u);
  constexpr int kAuthprivNotice = (10 << 3) | 5;
  EXPECT_EQ(Lines()[0].priority, kAuthprivNotice);
  const std::string& text = Lines()[0].text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  const auto said = nlohmann::json::parse(text);
  EXPECT_EQ(said["command"], "lock release");
  EXPECT_EQ(said["uid"], getuid());
  EXPECT_EQ(said["name"], "a%s\n\x1b");
  EXPECT_EQ(said["fence"], "3.17");
  EXPECT_EQ(said["result"], "released");
}

}  // namespace
}  // namespace oncemq::testing
