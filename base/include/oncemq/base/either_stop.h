// SPDX-License-Identifier: Apache-2.0
// EitherStop: a stop token that is requested as soon as one of two others is. As long as it lives.
//
// Thread safety: as std::stop_callback.
#pragma once

#include <stop_token>

namespace oncemq {

class EitherStop {
 public:
  EitherStop(const std::stop_token& one, const std::stop_token& other)
      : on_one_(one, Request{either_}), on_other_(other, Request{either_}) {}
  EitherStop(const EitherStop&) = delete;
  EitherStop& operator=(const EitherStop&) = delete;

  std::stop_token token() const { return either_.get_token(); }

 private:
  struct Request {
    std::stop_source& stop;
    void operator()() const { stop.request_stop(); }
  };

  std::stop_source either_;
  std::stop_callback<Request> on_one_;
  std::stop_callback<Request> on_other_;
};

}  // namespace oncemq
