// SPDX-License-Identifier: Apache-2.0
#include "effect_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <utility>

#include "oncemq/base/bytes.h"

namespace oncemq::demo {
namespace {

constexpr size_t kFields = 9;

std::optional<std::array<std::string_view, kFields>> SplitFields(std::string_view line) {
  std::array<std::string_view, kFields> fields;
  for (size_t i = 0; i < kFields; ++i) {
    const size_t space = line.find(' ');
    const bool last = i + 1 == kFields;
    if (last != (space == std::string_view::npos)) {
      return std::nullopt;
    }
    fields[i] = line.substr(0, space);
    line.remove_prefix(last ? line.size() : space + 1);
  }
  return fields;
}

template <class T>
bool ReadNumber(std::string_view text, T& out) {
  const auto number = ParseDecimal(text);
  if (!number || *number < 0 || std::cmp_greater(*number, std::numeric_limits<T>::max())) {
    return false;
  }
  out = static_cast<T>(*number);
  return true;
}

}  // namespace

std::string FormatPosting(const Posting& posting) {
  const Payment& payment = posting.payment;
  std::string line = payment.id;
  for (const int64_t number :
       {int64_t{payment.from}, int64_t{payment.to}, int64_t{payment.sequence}, payment.cents}) {
    line += ' ' + std::to_string(number);
  }
  line += ' ' + posting.worker + ' ' + std::to_string(posting.partition);
  line += ' ' + std::to_string(posting.offset);
  return line += ' ' + std::to_string(posting.at_ms) + '\n';
}

std::optional<Posting> ParsePosting(std::string_view line) {
  const auto fields = SplitFields(line);
  if (!fields) {
    return std::nullopt;
  }
  const auto& [id, from, to, sequence, cents, worker, partition, offset, at_ms] = *fields;
  Posting posting;
  Payment& payment = posting.payment;
  if (id.empty() || !ReadNumber(from, payment.from) || !ReadNumber(to, payment.to) ||
      !ReadNumber(sequence, payment.sequence) || !ReadNumber(cents, payment.cents) ||
      !ReadNumber(partition, posting.partition) || !ReadNumber(offset, posting.offset) ||
      !ReadNumber(at_ms, posting.at_ms)) {
    return std::nullopt;
  }
  payment.id = id;
  posting.worker = worker;
  return posting;
}

Result<EffectLog> EffectLog::Open(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return Error{Code::kUnavailable, Effect::kNone, path.string() + ": " + std::strerror(errno)};
  }
  return EffectLog(fd);
}

EffectLog::EffectLog(EffectLog&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

EffectLog::~EffectLog() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

Status EffectLog::Append(const Posting& posting) {
  const std::string line = FormatPosting(posting);
  // A single write to a file opened for appending is never mixed with another process's.
  if (write(fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return Error{Code::kUnavailable, Effect::kUnknown, std::strerror(errno)};
  }
  return {};
}

EffectLogContent ReadEffectLog(const std::filesystem::path& path) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EffectLogContent content;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = rest.find('\n');
    auto posting = end == std::string_view::npos ? std::nullopt : ParsePosting(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (posting) {
      content.postings.push_back(std::move(*posting));
    } else {
      content.damaged++;
    }
  }
  return content;
}

}  // namespace oncemq::demo
