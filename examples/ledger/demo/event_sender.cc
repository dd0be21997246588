// SPDX-License-Identifier: Apache-2.0
#include "event_sender.h"

#include <iterator>
#include <utility>

#include "rdkafka_handle.h"

namespace ledger::demo {
namespace {

using oncemq::demo::KafkaError;

constexpr char kIdHeader[] = "message-id";

class Sender final : public EventSender {
 public:
  explicit Sender(std::string topic) : topic_(std::move(topic)) {}

  oncemq::Status Open(const std::string& brokers) {
    auto client = oncemq::demo::OpenClient({
        .properties = {{"bootstrap.servers", brokers},
                       {"acks", "all"},
                       {"linger.ms", "5"},
                       {"partitioner", "murmur2_random"},
                       // A batch that is sent again must not overtake: copies come after originals.
                       {"max.in.flight.requests.per.connection", "1"},
                       {"socket.nagle.disable", "true"}},
        .on_delivery = OnDelivery,
        .opaque = this,
    });
    if (!client) {
      return client.error();
    }
    client_ = *std::move(client);
    return {};
  }

  oncemq::Status Send(const std::string& id, const Event& event, int32_t partition) override {
    const std::string key = KeyOf(event);
    const std::string value = Encode(event);
    rd_kafka_vu_t fields[6] = {};
    fields[0].vtype = RD_KAFKA_VTYPE_TOPIC;
    fields[0].u.cstr = topic_.c_str();
    fields[1].vtype = RD_KAFKA_VTYPE_PARTITION;
    fields[1].u.i32 = partition;
    fields[2].vtype = RD_KAFKA_VTYPE_KEY;
    fields[2].u.mem = {const_cast<char*>(key.data()), key.size()};
    fields[3].vtype = RD_KAFKA_VTYPE_VALUE;
    fields[3].u.mem = {const_cast<char*>(value.data()), value.size()};
    fields[4].vtype = RD_KAFKA_VTYPE_HEADER;
    fields[4].u.header = {kIdHeader, id.data(), static_cast<ssize_t>(id.size())};
    fields[5].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
    fields[5].u.i = RD_KAFKA_MSG_F_COPY;
    const oncemq::demo::ErrorPtr error(
        rd_kafka_produceva(client_.get(), fields, std::size(fields)));
    if (error != nullptr) {
      return KafkaError("produce", rd_kafka_error_code(error.get()));
    }
    rd_kafka_poll(client_.get(), 0);
    return Refusal();
  }

  oncemq::Status Flush(oncemq::milliseconds longest) override {
    const auto error = rd_kafka_flush(client_.get(), static_cast<int>(longest.count()));
    return error == RD_KAFKA_RESP_ERR_NO_ERROR ? Refusal() : KafkaError("flush", error);
  }

 private:
  static void OnDelivery(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      static_cast<Sender*>(opaque)->refused_ = message->err;
    }
  }
  oncemq::Status Refusal() const {
    return refused_ == RD_KAFKA_RESP_ERR_NO_ERROR ? oncemq::Status()
                                                  : KafkaError("the broker refused", refused_);
  }

  const std::string topic_;
  oncemq::demo::ClientPtr client_;
  rd_kafka_resp_err_t refused_ = RD_KAFKA_RESP_ERR_NO_ERROR;
};

}  // namespace

oncemq::Result<std::unique_ptr<EventSender>> EventSender::Connect(const std::string& brokers,
                                                                  const std::string& topic) {
  auto sender = std::make_unique<Sender>(topic);
  if (const oncemq::Status opened = sender->Open(brokers); !opened) {
    return opened.error();
  }
  return std::unique_ptr<EventSender>(std::move(sender));
}

}  // namespace ledger::demo
