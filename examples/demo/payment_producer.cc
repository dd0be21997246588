// SPDX-License-Identifier: Apache-2.0
#include "payment_producer.h"

#include <iterator>
#include <utility>

#include "rdkafka_handle.h"

namespace oncemq::demo {
namespace {

constexpr char kIdHeader[] = "message-id";
// Lengths, offset and time of a record, and its share of the batch's head: batches may be small.
constexpr int64_t kOverhead = 40;

class Producer final : public PaymentProducer {
 public:
  Producer(std::string topic, int partitions)
      : topic_(std::move(topic)), volumes_(static_cast<size_t>(partitions)) {}

  Status Open(const std::string& brokers) {
    auto client = OpenClient({
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
    client_ = std::move(*client);
    return {};
  }

  Status Send(const Payment& payment) override {
    const std::string key = KeyOf(payment);
    const std::string value = EncodePayment(payment);
    rd_kafka_vu_t fields[5] = {};
    fields[0].vtype = RD_KAFKA_VTYPE_TOPIC;
    fields[0].u.cstr = topic_.c_str();
    fields[1].vtype = RD_KAFKA_VTYPE_KEY;
    fields[1].u.mem = {const_cast<char*>(key.data()), key.size()};
    fields[2].vtype = RD_KAFKA_VTYPE_VALUE;
    fields[2].u.mem = {const_cast<char*>(value.data()), value.size()};
    fields[3].vtype = RD_KAFKA_VTYPE_HEADER;
    fields[3].u.header = {kIdHeader, payment.id.data(), static_cast<ssize_t>(payment.id.size())};
    fields[4].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
    fields[4].u.i = RD_KAFKA_MSG_F_COPY;
    const ErrorPtr error(rd_kafka_produceva(client_.get(), fields, std::size(fields)));
    return error == nullptr ? Poll() : KafkaError("produce", rd_kafka_error_code(error.get()));
  }

  Status Poll() override {
    rd_kafka_poll(client_.get(), 0);
    return Refusal();
  }

  Status Flush(milliseconds timeout) override {
    const auto error = rd_kafka_flush(client_.get(), static_cast<int>(timeout.count()));
    return error == RD_KAFKA_RESP_ERR_NO_ERROR ? Refusal() : KafkaError("flush", error);
  }

  const std::vector<Volume>& volumes() const override { return volumes_; }

 private:
  static void OnDelivery(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
    auto* self = static_cast<Producer*>(opaque);
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      self->refused_ = message->err;
      return;
    }
    Volume& volume = self->volumes_.at(static_cast<size_t>(message->partition));
    volume.messages++;
    volume.bytes += static_cast<int64_t>(message->len + message->key_len) + kOverhead;
  }

  Status Refusal() const {
    return refused_ == RD_KAFKA_RESP_ERR_NO_ERROR ? Status{}
                                                  : KafkaError("the broker refused", refused_);
  }

  const std::string topic_;
  std::vector<Volume> volumes_;
  rd_kafka_resp_err_t refused_ = RD_KAFKA_RESP_ERR_NO_ERROR;
  ClientPtr client_;  // after what it reports to
};

}  // namespace

int64_t VolumeOf(const Payment& payment) {
  return static_cast<int64_t>(KeyOf(payment).size() + EncodePayment(payment).size()) + kOverhead;
}

Result<std::unique_ptr<PaymentProducer>> PaymentProducer::Connect(const std::string& brokers,
                                                                  const std::string& topic,
                                                                  int partitions) {
  auto producer = std::make_unique<Producer>(topic, partitions);
  const Status opened = producer->Open(brokers);
  if (!opened) {
    return opened.error();
  }
  return std::unique_ptr<PaymentProducer>(std::move(producer));
}

}  // namespace oncemq::demo
