// SPDX-License-Identifier: Apache-2.0
// oncemq doctor: asks each part that a service file names how it is, and names settings that lower
// the guarantee. Reads the file as `check` does. Its claims have a scope of their own, which is
// removed.
#pragma once

#include <string>

namespace oncemq {

struct DoctorArguments {
  std::string config;
  bool json = false;
};

// The exit code: of the first part that is not well, kExitNoService where it does not answer,
// kExitUsage where it is refused, kExitFailed where the work would stand still.
int DoctorCommand(const DoctorArguments& arguments);

}  // namespace oncemq
