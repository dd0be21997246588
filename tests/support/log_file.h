// SPDX-License-Identifier: Apache-2.0
// What is logged while it lives, in a file that a test can read.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "oncemq/base/log.h"
#include "support/temp_dir.h"

namespace oncemq::testing {

class LogFile {
 public:
  LogFile() {
    LogOptions options;
    options.file = path();
    StartLogging(options);
  }
  ~LogFile() { StopLogging(); }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // As far as it is written.
  std::string Text() const {
    std::ostringstream text;
    text << std::ifstream(path()).rdbuf();
    return text.str();
  }
  bool Has(const std::string& what) const { return Text().find(what) != std::string::npos; }
  // All of it; nothing more gets here.
  std::string End() {
    StopLogging();
    return Text();
  }

 private:
  std::string path() const { return dir_.path() / "log"; }
  TempDir dir_;
};

}  // namespace oncemq::testing
