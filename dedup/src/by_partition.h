// SPDX-License-Identifier: Apache-2.0
// SendByPartition: a batch for windows of one partition each, in order. Requests of one partition
// that stand together go as one; the runtime's batches belong to one partition, so there a call is
// one.
//
// Thread safety: any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "oncemq/dedup/window.h"

namespace oncemq {

using SourcePartition = std::pair<uint32_t, int32_t>;  // source and partition

template <class Request>
SourcePartition PartitionOf(const Request& request) {
  if constexpr (requires { request.at; }) {
    return {request.at.source, request.at.partition};
  } else {
    return {request.source, request.partition};
  }
}

inline Error PartitionNotOpen() {
  return {Code::kUnavailable, Effect::kNone, "the partition is not open here"};
}

// The answers for a partition that is not open here: it is not ours.
inline void RefuseUnopened(std::span<ClaimAnswer> answers) {
  ClaimAnswer refused;
  refused.answer = ClaimVerdict::kFenced;
  std::fill(answers.begin(), answers.end(), refused);
}
inline void RefuseUnopened(std::span<MarkerChange> answers) {
  std::fill(answers.begin(), answers.end(), MarkerChange::kFenced);
}

// `send(where, begin, count)` returns a Status. After the first part an error leaves open what was
// made.
template <class Request, class Send>
Status SendByPartition(std::span<const Request> requests, const Send& send) {
  for (size_t begin = 0, end = 0; begin < requests.size(); begin = end) {
    const SourcePartition where = PartitionOf(requests[begin]);
    while (end < requests.size() && PartitionOf(requests[end]) == where) {
      end++;
    }
    if (const Status sent = send(where, begin, end - begin); !sent) {
      return begin == 0 ? sent : Error{sent.error().code, Effect::kUnknown, sent.error().message};
    }
  }
  return {};
}

// The same with answers, by `send(where, requests, replies)`.
template <class Request, class Reply, class Send>
Status SendByPartition(std::span<const Request> requests, std::span<Reply> replies,
                       const Send& send) {
  return SendByPartition(
      requests, [&](const SourcePartition& where, size_t begin, size_t count) -> Status {
        return send(where, requests.subspan(begin, count), replies.subspan(begin, count));
      });
}

}  // namespace oncemq
