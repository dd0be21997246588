// SPDX-License-Identifier: Apache-2.0
#include "rdkafka_ptr.h"

#include <future>
#include <thread>

#include "oncemq/base/log.h"

namespace oncemq {

void ClientDestroyer::operator()(rd_kafka_t* client) const {
  constexpr milliseconds kWithin{2'000};
  std::packaged_task<void()> destroy(
      [client] { rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE); });
  const std::future<void> ended = destroy.get_future();
  std::thread thread(std::move(destroy));
  if (ended.wait_for(kWithin) == std::future_status::ready) {
    thread.join();
    return;
  }
  Log(LogLevel::kWarn, "kafka", "a client does not end in time; its thread is let go", {});
  thread.detach();
}

}  // namespace oncemq
