// SPDX-License-Identifier: Apache-2.0
// What do claim and completion of every id cost on disk, ten million known, with 30 % copies?
#include "runtime_local.h"

int main(int argc, char** argv) {
  return oncemq::bench::RunLocalBench("runtime/rocksdb", oncemq::SyncWhen::kNever, argc, argv);
}
