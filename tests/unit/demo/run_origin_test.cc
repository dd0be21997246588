// SPDX-License-Identifier: Apache-2.0
#include "run_origin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace oncemq::demo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(RunOrigin, TheLineNamesProgramTimeAndMachine) {
  EXPECT_EQ(OriginLine({"0.1.0", "2026-11-25 17:21 UTC", 2, "Debian 12, Linux 6.1 x86_64"}),
            "oncemq 0.1.0, 2026-11-25 17:21 UTC, 2 cores, Debian 12, Linux 6.1 x86_64");
  EXPECT_THAT(OriginLine({"0.1.0", "", 1, ""}), HasSubstr(" 1 core, "));
}

TEST(RunOrigin, TheDateIsInUtcAndEndsWithTheMinute) {
  EXPECT_EQ(MinuteInUtc(WallTime{1'700'000'039'999'999}), "2023-11-14 22:13 UTC");
  EXPECT_EQ(MinuteInUtc(WallTime{1'700'000'040'000'000}), "2023-11-14 22:14 UTC");
}

TEST(RunOrigin, TheNameOfTheSystemIsFoundInItsFile) {
  EXPECT_EQ(NameInOsRelease("NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\nID=debian\n"),
            "Debian GNU/Linux 12");
  EXPECT_EQ(NameInOsRelease("PRETTY_NAME=Alpine"), "Alpine");
  EXPECT_EQ(NameInOsRelease("NOT_PRETTY_NAME=x\n\n"), "");
  EXPECT_EQ(NameInOsRelease(""), "");
}

TEST(RunOrigin, ThisMachineIsDescribedWithoutItsHostName) {
  const RunOrigin origin = OriginOf("0.1.0", WallTime{1'700'000'040'000'000});
  EXPECT_EQ(origin.version, "0.1.0");
  EXPECT_EQ(origin.date, "2023-11-14 22:14 UTC");
  EXPECT_GT(origin.cores, 0u);
  EXPECT_THAT(origin.system, HasSubstr("Linux"));
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof(host) - 1), 0);
  EXPECT_THAT(" " + origin.system + " ", Not(HasSubstr(" " + std::string(host) + " ")));
}

}  // namespace
}  // namespace oncemq::demo
