// SPDX-License-Identifier: Apache-2.0
// RocksLog: RocksDB's words of warning in our log, instead of a file of its own beside the store.
// Why not its file: on a full disk the file cannot be written, and Debian's build ends the process
// with an assertion about that. It repeats itself with each try to open a store that cannot be
// opened, twice a second, so of lines that differ in digits only one a minute is written.
//
// Thread safety: any thread.
#pragma once

#include <rocksdb/env.h>

#include <cstdarg>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "oncemq/base/log.h"

namespace oncemq {

class RocksLog final : public rocksdb::Logger {
 public:
  explicit RocksLog(std::string directory)
      : rocksdb::Logger(rocksdb::InfoLogLevel::WARN_LEVEL), directory_(std::move(directory)) {}

  using rocksdb::Logger::Logv;
  __attribute__((format(printf, 2, 0))) void Logv(const char* format, va_list words) override {
    Logv(rocksdb::InfoLogLevel::HEADER_LEVEL, format, words);
  }
  __attribute__((format(printf, 3, 0))) void Logv(rocksdb::InfoLogLevel level, const char* format,
                                                  va_list words) override {
    if (level != rocksdb::InfoLogLevel::WARN_LEVEL && level != rocksdb::InfoLogLevel::ERROR_LEVEL &&
        level != rocksdb::InfoLogLevel::FATAL_LEVEL) {
      return;
    }
    char text[512];
    std::vsnprintf(text, sizeof text, format, words);
    // Said of each file that RocksDB looks at before it takes it in, since no id of it can be
    // written down yet; from then on the ids of such files are checked like all others.
    if (std::string_view(text).find("opened without unique ID to verify") !=
        std::string_view::npos) {
      return;
    }
    LogSeldom(level == rocksdb::InfoLogLevel::WARN_LEVEL ? LogLevel::kWarn : LogLevel::kError,
              "rocksdb", text, {{"directory", directory_}});
  }

 private:
  const std::string directory_;
};

}  // namespace oncemq
