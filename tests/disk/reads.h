// SPDX-License-Identifier: Apache-2.0
// The reads of this program from files: a test may have them fail, as those of a disk that dies.
//
// Thread safety: any thread; one object at a time.
#pragma once

#include <climits>

namespace oncemq::testing {

class FailingReads {
 public:
  // `after` so many more, and `most` at most.
  explicit FailingReads(int after = 0, int most = INT_MAX);
  ~FailingReads();
  FailingReads(const FailingReads&) = delete;
  FailingReads& operator=(const FailingReads&) = delete;

  int failed() const;  // so far
};

// The same of looks at what files there are, and how long they are.
class FailingLooks {
 public:
  explicit FailingLooks(int after = 0, int most = INT_MAX);
  ~FailingLooks();
  FailingLooks(const FailingLooks&) = delete;
  FailingLooks& operator=(const FailingLooks&) = delete;

  int failed() const;
};

}  // namespace oncemq::testing
