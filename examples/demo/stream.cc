// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "embedded_broker.h"

namespace oncemq::demo {

size_t Stream::Position(double share) const {
  return static_cast<size_t>(share * static_cast<double>(size()));
}

void Stream::FlowTo(double share, BootTime now) {
  wave_begin_ = sent_;
  wave_end_ = std::max(Position(share), sent_);
  wave_began_ = now;
}

void Stream::Pause() {
  wave_end_ = sent_;
}

Status Stream::Flow(BootTime now) {
  const int64_t due = a_second_ * (now - wave_began_).count() / 1'000'000;
  const size_t end = std::min(wave_end_, wave_begin_ + static_cast<size_t>(due));
  while (sent_ < end) {
    const Status sent = producer_.Send(plan_.payments[plan_.sends[sent_]]);
    if (!sent) {
      return sent;
    }
    sent_++;
  }
  for (const PaymentProducer::Volume& volume : producer_.volumes()) {
    if (volume.bytes > EmbeddedBroker::kPartitionBytes / 10 * 9 ||
        volume.messages > EmbeddedBroker::kPartitionMessages / 10 * 9) {
      return Error{Code::kFull, Effect::kNone,
                   "a partition is nearly full, and the embedded broker would drop its beginning"};
    }
  }
  return producer_.Poll();
}

bool Stream::Quiet() const {
  int64_t acknowledged = 0;
  for (const PaymentProducer::Volume& volume : producer_.volumes()) {
    acknowledged += volume.messages;
  }
  return sent_ == wave_end_ && acknowledged == static_cast<int64_t>(sent_);
}

}  // namespace oncemq::demo
