// SPDX-License-Identifier: Apache-2.0
// The exit codes of a service and of the command.
#pragma once

namespace oncemq {

enum ExitCode : int {
  kExitDone = 0,
  kExitFailed = 1,
  kExitUsage = 2,         // wrong arguments, or a configuration that is refused
  kExitParked = 3,        // done, but some messages are parked still
  kExitVerification = 4,  // the sums of the verdict do not add up
  kExitNothing = 5,       // a run in which no partition has begun
  kExitNoService = 6,     // no service answers at the socket
  kExitStopped = 7,       // a run in which a partition was stopped, all else in order
  kExitAtOnce = 8,        // a run that a second signal ended
  kExitSignal = 128,      // plus the number of the signal that ended a run
};

}  // namespace oncemq
