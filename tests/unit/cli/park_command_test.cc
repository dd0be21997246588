// SPDX-License-Identifier: Apache-2.0
// oncemq park without a broker: what is refused before one is asked.
#include <gtest/gtest.h>

#include <string>

#include "command_fixture.h"

namespace oncemq {
namespace {

using oncemq::testing::Command;
using oncemq::testing::kService;

TEST_F(Command, AFilterOfParkedMessagesThatCannotBeReadIsRefused) {
  const std::string file = Write(kService);
  for (const std::string command : {"park list", "park redrive --go", "park drop"}) {
    for (const auto& [filter, why] :
         {std::pair("--header kind", "--header takes NAME=VALUE"),
          std::pair("--older soon", "--older and --younger take a time like 2h"),
          std::pair("--younger 7", "--older and --younger take a time like 2h")}) {
      const Ended ended = Run(command + " " + filter + " -c " + file);
      EXPECT_EQ(ended.code, 2) << command << " " << filter;
      ExpectOneLine(ended, why);
    }
  }
  ExpectOneLine(Run("park drop --patience long -c " + file), "--patience takes a time like 1m");
}

TEST_F(Command, OneParkedMessageIsNamedByItsPlaceOrItsId) {
  const std::string file = Write(kService);
  for (const std::string arguments :
       {"park show", "park show --partition 0", "park show --offset 1",
        "park edit --partition 0 --drop-header h"}) {
    const Ended ended = Run(arguments + " -c " + file);
    EXPECT_EQ(ended.code, 2) << arguments;
    ExpectOneLine(ended, "say --topic, --partition and --offset");
  }
}

TEST_F(Command, AnEditOfNothingIsRefused) {
  const std::string edit = "park edit --partition 0 --offset 1 -c " + Write(kService);
  for (const auto& [change, why] :
       {std::pair("", "say the change"), std::pair(" --header kind", "--header takes NAME=VALUE"),
        std::pair(" --value /nowhere/value", "cannot read /nowhere/value")}) {
    const Ended ended = Run(edit + change);
    EXPECT_EQ(ended.code, 2) << change;
    ExpectOneLine(ended, why);
  }
}

TEST_F(Command, TheRunThatIsCancelledIsNamed) {
  const Ended ended = Run("park cancel -c " + Write(kService));
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, ::testing::HasSubstr("--run is required"));
}

}  // namespace
}  // namespace oncemq
