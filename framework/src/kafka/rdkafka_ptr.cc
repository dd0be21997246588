// SPDX-License-Identifier: Apache-2.0
#include "rdkafka_ptr.h"

#include <future>
#include <memory>

#include "oncemq/base/log.h"
#include "oncemq/base/start_thread.h"

namespace oncemq {

void ClientDestroyer::operator()(rd_kafka_t* client) const {
  constexpr milliseconds kWithin{2'000};
  const auto destroy = [client] {
    rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
  };
  const auto told = std::make_shared<std::promise<void>>();
  const std::future<void> ended = told->get_future();
  std::optional<std::thread> thread = StartThread("oncemq-destroy", [destroy, told] {
    destroy();
    told->set_value();
  });
  if (!thread) {
    return destroy();  // without a bound is better than not at all
  }
  if (ended.wait_for(kWithin) == std::future_status::ready) {
    thread->join();
    return;
  }
  Log(LogLevel::kWarn, "kafka", "a client does not end in time; its thread is let go", {});
  thread->detach();
}

AdminOptionsPtr NewAdminOptions(rd_kafka_t* client, rd_kafka_admin_op_t request,
                                milliseconds within) {
  AdminOptionsPtr options(rd_kafka_AdminOptions_new(client, request));
  char why[256];
  rd_kafka_AdminOptions_set_request_timeout(options.get(), Millis(within), why, sizeof why);
  return options;
}

}  // namespace oncemq
