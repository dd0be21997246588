// SPDX-License-Identifier: Apache-2.0
// crash_member.cc as a child process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "support/process.h"

namespace oncemq::testing {

// What the members of one test have in common.
struct MemberSetup {
  std::string bootstrap;
  std::string group;
  std::string topic;
  std::filesystem::path dir;  // of its windows, effects, calls and logs
  std::string window;         // as OpenTestWindow knows it
};

// `environment`: what crash_member.cc says. Throws as Process does.
std::unique_ptr<Process> StartMember(const MemberSetup& setup, uint32_t number,
                                     std::map<std::string, std::string> environment = {});

// What it has said, behind its number.
std::string LogOfMember(const MemberSetup& setup, uint32_t number);

}  // namespace oncemq::testing
