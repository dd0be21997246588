// SPDX-License-Identifier: Apache-2.0
#include "writes.h"

#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "support/power/interpose.h"

namespace oncemq::testing {
namespace {

struct Fault {
  std::mutex mutex;
  int passes = 0;   // so many, then
  int failing = 0;  // so many fail
  int failed = 0;

  void Set(int after, int most) {
    const std::lock_guard lock(mutex);
    passes = after;
    failing = most;
    failed = 0;
  }
  void Clear() {
    const std::lock_guard lock(mutex);
    failing = 0;
  }
  int Failed() {
    const std::lock_guard lock(mutex);
    return failed;
  }
  bool Meets() {
    const std::lock_guard lock(mutex);
    if (failing == 0 || passes-- > 0) {
      return false;
    }
    failing--;
    failed++;
    return true;
  }
};

Fault& OfWrites() {
  static auto* const fault = new Fault;  // writes come until the very end
  return *fault;
}

Fault& OfMarks() {
  static auto* const fault = new Fault;
  return *fault;
}

Fault& OfNames() {
  static auto* const fault = new Fault;
  return *fault;
}

bool Fails(Fault& fault, int error) {
  const bool meets = fault.Meets();
  errno = meets ? error : errno;
  return meets;
}

}  // namespace

FailingWrites::FailingWrites(int after, int most) {
  OfWrites().Set(after, most);
}
FailingWrites::~FailingWrites() {
  OfWrites().Clear();
}
int FailingWrites::failed() const {
  return OfWrites().Failed();
}

FailingMarks::FailingMarks(int after, int most) {
  OfMarks().Set(after, most);
}
FailingMarks::~FailingMarks() {
  OfMarks().Clear();
}
int FailingMarks::failed() const {
  return OfMarks().Failed();
}

FailingNames::FailingNames(int after, int most) {
  OfNames().Set(after, most);
}
FailingNames::~FailingNames() {
  OfNames().Clear();
}
int FailingNames::failed() const {
  return OfNames().Failed();
}

}  // namespace oncemq::testing

EXPORTED ssize_t write(int file, const void* bytes, size_t size) {
  const bool fails =
      file > STDERR_FILENO && oncemq::testing::Fails(oncemq::testing::OfWrites(), ENOSPC);
  return fails ? -1 : REAL(write)(file, bytes, size);
}
EXPORTED ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) {
  return oncemq::testing::Fails(oncemq::testing::OfMarks(), ENOSPC)
             ? -1
             : REAL(pwrite)(file, bytes, size, at);
}
EXPORTED int rename(const char* from, const char* to) {
  return oncemq::testing::Fails(oncemq::testing::OfNames(), EIO) ? -1 : REAL(rename)(from, to);
}
EXPORTED int link(const char* from, const char* to) {
  return oncemq::testing::Fails(oncemq::testing::OfNames(), EIO) ? -1 : REAL(link)(from, to);
}
