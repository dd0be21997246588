// SPDX-License-Identifier: Apache-2.0
#include "member_process.h"

#include <fstream>
#include <iterator>
#include <utility>

namespace oncemq::testing {
namespace {

std::filesystem::path LogFileOf(const MemberSetup& setup, uint32_t number) {
  return setup.dir / ("member-" + std::to_string(number) + ".log");
}

}  // namespace

std::unique_ptr<Process> StartMember(const MemberSetup& setup, uint32_t number,
                                     std::map<std::string, std::string> environment) {
  return std::make_unique<Process>(
      ProcessOptions{.command = {ONCEMQ_CRASH_MEMBER, setup.bootstrap, setup.group, setup.topic,
                                 setup.dir.string(), std::to_string(number), setup.window},
                     .environment = std::move(environment),
                     .log_file = LogFileOf(setup, number)});
}

std::string LogOfMember(const MemberSetup& setup, uint32_t number) {
  std::ifstream log(LogFileOf(setup, number));
  return "member " + std::to_string(number) + ": " +
         std::string(std::istreambuf_iterator<char>(log), {});
}

}  // namespace oncemq::testing
