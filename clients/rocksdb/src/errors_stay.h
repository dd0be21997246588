// SPDX-License-Identifier: Apache-2.0
// ErrorsStay: RocksDB does not try by itself to go on after an error. Whoever owns the store opens
// it again, which tells what was written.
// Why: what went on in between nobody here would know. And Debian's build of 7.8 checks what it
// believes: where a MANIFEST could not be written either, its attempt ends the process.
//
// Thread safety: any thread.
#pragma once

#include <rocksdb/listener.h>

namespace oncemq {

class ErrorsStay final : public rocksdb::EventListener {
 public:
  // Nothing is tried again: a buffer that could not be put into a file once may not be at all.
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* error) override {
    *error = rocksdb::Status(*error, rocksdb::Status::Severity::kFatalError);
  }
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status,
                            bool* automatic) override {
    *automatic = false;
  }
};

}  // namespace oncemq
