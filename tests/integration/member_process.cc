// SPDX-License-Identifier: Apache-2.0
#include "member_process.h"

#include <fstream>
#include <iterator>
#include <utility>

namespace oncemq::testing {
namespace {

std::filesystem::path LogFileOf(const MemberPlace& place, uint32_t number) {
  return place.dir / ("member-" + std::to_string(number) + ".log");
}

}  // namespace

std::unique_ptr<Process> StartMember(const MemberPlace& place, uint32_t number,
                                     std::map<std::string, std::string> environment) {
  return std::make_unique<Process>(
      ProcessOptions{.command = {ONCEMQ_CRASH_MEMBER, place.bootstrap, place.group, place.topic,
                                 place.dir.string(), std::to_string(number), place.window},
                     .environment = std::move(environment),
                     .log_file = LogFileOf(place, number)});
}

std::string LogOfMember(const MemberPlace& place, uint32_t number) {
  std::ifstream log(LogFileOf(place, number));
  return "member " + std::to_string(number) + ": " +
         std::string(std::istreambuf_iterator<char>(log), {});
}

}  // namespace oncemq::testing
