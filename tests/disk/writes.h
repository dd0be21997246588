// SPDX-License-Identifier: Apache-2.0
// What this program writes to files, and the names that it gives them: a test may have that fail,
// as on a disk that is full or dies.
//
// Thread safety: any thread; one object of each at a time.
#pragma once

#include <climits>

namespace oncemq::testing {

// While it lives, writes to files fail: `after` so many more, and `most` at most.
class FailingWrites {
 public:
  explicit FailingWrites(int after = 0, int most = INT_MAX);
  ~FailingWrites();
  FailingWrites(const FailingWrites&) = delete;
  FailingWrites& operator=(const FailingWrites&) = delete;

  int failed() const;  // so far
};

// The same of what is written in its place, as only SYNCED is.
class FailingMarks {
 public:
  explicit FailingMarks(int after = 0, int most = INT_MAX);
  ~FailingMarks();
  FailingMarks(const FailingMarks&) = delete;
  FailingMarks& operator=(const FailingMarks&) = delete;

  int failed() const;
};

// The same of files that get another name, or a second one.
class FailingNames {
 public:
  explicit FailingNames(int after = 0, int most = INT_MAX);
  ~FailingNames();
  FailingNames(const FailingNames&) = delete;
  FailingNames& operator=(const FailingNames&) = delete;

  int failed() const;
};

}  // namespace oncemq::testing
