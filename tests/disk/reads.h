// SPDX-License-Identifier: Apache-2.0
// The reads of this program from files: a test may have them fail, as those of a disk that dies.
//
// Thread safety: any thread; one object at a time.
#pragma once

namespace oncemq::testing {

class FailingReads {
 public:
  // `after` so many more, all of them fail.
  explicit FailingReads(int after = 0);
  ~FailingReads();
  FailingReads(const FailingReads&) = delete;
  FailingReads& operator=(const FailingReads&) = delete;

  int failed() const;  // so far
};

}  // namespace oncemq::testing
