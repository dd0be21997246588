// SPDX-License-Identifier: Apache-2.0
// And with every commit made to survive power loss first?
#include "runtime_local.h"

int main(int argc, char** argv) {
  return oncemq::bench::RunLocalBench("runtime/rocksdb-fsync", oncemq::SyncWhen::kEachCommit, argc,
                                      argv);
}
