// SPDX-License-Identifier: Apache-2.0
// This program looks at what others have left, and nobody takes the power from it: its own syncs
// need not wait for the disk, and a hundred times more losses can be looked at.
#include <unistd.h>

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int fsync(int) {
  return 0;
}
EXPORTED int fdatasync(int) {
  return 0;
}
