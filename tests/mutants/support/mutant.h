// SPDX-License-Identifier: Apache-2.0
// The choice of a mutant at run time, for the mirrored tree that scripts/build mutants makes
// (README.md). The product does not know this header.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace oncemq {

// Whether the environment variable ONCEMQ_MUTANT has this name. Then the file that
// ONCEMQ_MUTANT_REACHED names gets a line, at once: the process may end by a signal.
inline bool MutantChosen(std::string_view name) {
  const char* const chosen = std::getenv("ONCEMQ_MUTANT");
  if (chosen == nullptr || chosen != name) {
    return false;
  }
  if (const char* const path = std::getenv("ONCEMQ_MUTANT_REACHED"); path != nullptr) {
    const int before = errno;
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    [[maybe_unused]] const auto written = write(fd, "reached\n", 8);
    close(fd);
    errno = before;
  }
  return true;
}

// A text in another language, with `ONCEMQ_MUTANT("name")` where a mutant may be chosen: each is
// `true` or `false` once the text is asked for.
class MutantText {
 public:
  // Both conversions are implicit: it stands for a std::string_view of the product.
  constexpr MutantText(const char* text) : text_(text) {}
  operator std::string_view() const {
    static std::mutex mutex;
    static auto* const texts = new std::map<const char*, std::string>();
    const std::lock_guard lock(mutex);
    const auto [at, fresh] = texts->try_emplace(text_, text_);
    constexpr std::string_view kBegin = "ONCEMQ_MUTANT(\"";
    constexpr std::string_view kEnd = "\")";
    std::string& text = at->second;
    for (size_t begin = text.find(kBegin); fresh && begin != text.npos; begin = text.find(kBegin)) {
      const size_t end = text.find(kEnd, begin);
      const std::string name = text.substr(begin + kBegin.size(), end - begin - kBegin.size());
      text.replace(begin, end + kEnd.size() - begin, MutantChosen(name) ? "true" : "false");
    }
    return text;
  }

 private:
  const char* text_;
};

}  // namespace oncemq

// Chosen for as long as the process lives.
#define ONCEMQ_MUTANT(name)                                  \
  ([] {                                                      \
    static const bool chosen = ::oncemq::MutantChosen(name); \
    return chosen;                                           \
  }())
