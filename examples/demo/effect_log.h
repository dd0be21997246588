// SPDX-License-Identifier: Apache-2.0
// The effect of the run without a window: one line per posting in a file that its workers append
// to. The file is blind: it never looks for a copy, so a double posting stays visible.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/result.h"
#include "payment.h"

namespace oncemq::demo {

struct Posting {
  Payment payment;
  std::string worker;
  int32_t partition = 0;
  int64_t offset = 0;
  int64_t at_ms = 0;  // when, by the clock that all processes of a machine share
};

// "pay-00042 12 33 7 1999 A 2 1841 5021\n": id, from, to, sequence, cents, worker, partition,
// offset, time.
std::string FormatPosting(const Posting& posting);

// A line without its newline. Nothing: it is not one of ours, or only a part of one.
std::optional<Posting> ParsePosting(std::string_view line);

// Thread safety: any thread; a line is one write.
class EffectLog {
 public:
  static Result<EffectLog> Open(const std::filesystem::path& path);
  EffectLog(EffectLog&& other) noexcept;
  EffectLog& operator=(EffectLog&&) = delete;
  ~EffectLog();

  Status Append(const Posting& posting);

 private:
  explicit EffectLog(int fd) : fd_(fd) {}
  int fd_;
};

struct EffectLogContent {
  std::vector<Posting> postings;  // in the order of the file
  size_t damaged = 0;             // lines that can't be read
};

EffectLogContent ReadEffectLog(const std::filesystem::path& path);

}  // namespace oncemq::demo
