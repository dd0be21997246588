// SPDX-License-Identifier: Apache-2.0
#include "test_producer.h"

#include <functional>
#include <stdexcept>

#include "rdkafka_handle.h"

namespace oncemq::testing {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTopicTimeout{15'000};

std::map<std::string, std::string> Properties(const std::string& bootstrap,
                                              const TestProducerOptions& options) {
  std::map<std::string, std::string> properties = {
      {"bootstrap.servers", bootstrap},
      {"partitioner", "murmur2_random"},
      {"linger.ms", "2"},
      {"batch.num.messages", "100000"},
      {"queue.buffering.max.messages", "1000000"},
      {"queue.buffering.max.kbytes", "1048576"},
      {"socket.nagle.disable", "true"},
      {"reconnect.backoff.ms", "10"},
      {"reconnect.backoff.max.ms", "200"},
  };
  if (options.transactional_id.empty()) {
    properties["enable.idempotence"] = "false";
  } else {
    properties["transactional.id"] = options.transactional_id;
  }
  for (const auto& [name, value] : options.properties) {
    properties[name] = value;
  }
  return properties;
}

rd_kafka_vu_t Bytes(rd_kafka_vtype_t type, const std::optional<std::string_view>& bytes) {
  rd_kafka_vu_t field{};
  field.vtype = type;
  if (bytes.has_value()) {
    // librdkafka takes a null pointer for a null value, and an empty view may carry one.
    field.u.mem.ptr = const_cast<char*>(bytes->data() == nullptr ? "" : bytes->data());
    field.u.mem.size = bytes->size();
  }
  return field;
}

HeadersPtr MakeHeaders(const OutMessage& message) {
  if (message.headers.empty()) {
    return nullptr;
  }
  HeadersPtr headers(rd_kafka_headers_new(message.headers.size()));
  for (const auto& [name, value] : message.headers) {
    const rd_kafka_vu_t bytes = Bytes(RD_KAFKA_VTYPE_VALUE, value);
    Check(rd_kafka_header_add(headers.get(), name.data(), static_cast<ssize_t>(name.size()),
                              bytes.u.mem.ptr, static_cast<ssize_t>(bytes.u.mem.size)),
          "header");
  }
  return headers;
}

}  // namespace

struct TestProducer::State {
  milliseconds transaction_timeout;
  std::size_t acknowledged = 0;
  std::size_t refused = 0;
  std::string first_refusal;
  ClientPtr client;  // after the fields above, to which it reports until it is gone
  std::map<std::string, TopicPtr, std::less<>> topics;

  static void Report(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
    auto* self = static_cast<State*>(opaque);
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      ++self->acknowledged;
    } else if (message->err == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
               message->err == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT) {
      return;  // dropped by our own Abort() or destructor
    } else if (++self->refused == 1) {
      self->first_refusal = rd_kafka_err2str(message->err);
    }
  }

  // librdkafka alone would look for a new topic's leaders only about once a second.
  rd_kafka_topic_t* Topic(std::string_view name) {
    auto found = topics.find(name);
    if (found == topics.end()) {
      const std::string text(name);
      TopicPtr topic(rd_kafka_topic_new(client.get(), text.c_str(), nullptr));
      if (topic == nullptr) {
        Check(rd_kafka_last_error(), "topic " + text);
      }
      const MetadataPtr metadata = FetchMetadata(client.get(), kTopicTimeout, topic.get());
      if (metadata == nullptr || ReadyPartitions(*metadata, text) == 0) {
        throw std::runtime_error("topic " + text + " is not there");
      }
      found = topics.emplace(text, std::move(topic)).first;
    }
    return found->second.get();
  }

  int TransactionLimit() const { return static_cast<int>(transaction_timeout.count()); }

  // A call whose outcome isn't known is made again, which librdkafka allows: it never aborts by
  // itself what may have been committed.
  template <class Call>
  void Transact(const char* what, Call call) {
    constexpr int kTries = 5;
    for (int i = 1;; ++i) {
      const ErrorPtr error(call());
      if (error == nullptr) {
        return;
      }
      if (rd_kafka_error_is_retriable(error.get()) == 0 || i == kTries) {
        throw std::runtime_error(std::string(what) + ": " + rd_kafka_error_string(error.get()));
      }
    }
  }
};

TestProducer::TestProducer(const std::string& bootstrap, const TestProducerOptions& options)
    : state_(std::make_unique<State>()) {
  state_->transaction_timeout = options.transaction_timeout;
  state_->client =
      MakeClient(RD_KAFKA_PRODUCER, Properties(bootstrap, options), State::Report, state_.get());
  if (!options.transactional_id.empty()) {
    state_->Transact("init transactions", [&] {
      return rd_kafka_init_transactions(state_->client.get(), state_->TransactionLimit());
    });
  }
}

TestProducer::~TestProducer() {
  rd_kafka_purge(state_->client.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
}

void TestProducer::Send(const OutMessage& message) {
  rd_kafka_vu_t fields[7] = {
      {}, Bytes(RD_KAFKA_VTYPE_KEY, message.key), Bytes(RD_KAFKA_VTYPE_VALUE, message.value)};
  fields[0].vtype = RD_KAFKA_VTYPE_RKT;
  fields[0].u.rkt = state_->Topic(message.topic);
  fields[3].vtype = RD_KAFKA_VTYPE_PARTITION;
  fields[3].u.i32 = message.partition;
  fields[4].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  fields[4].u.i = RD_KAFKA_MSG_F_COPY;
  fields[5].vtype = RD_KAFKA_VTYPE_TIMESTAMP;
  fields[5].u.i64 = message.timestamp_ms;
  HeadersPtr headers = MakeHeaders(message);
  fields[6].vtype = RD_KAFKA_VTYPE_HEADERS;
  fields[6].u.headers = headers.get();
  const std::size_t count = headers == nullptr ? 6 : 7;
  for (;;) {
    const ErrorPtr error(rd_kafka_produceva(state_->client.get(), fields, count));
    if (error == nullptr) {
      static_cast<void>(headers.release());  // librdkafka owns them from here on
      return;
    }
    if (rd_kafka_error_code(error.get()) != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
      throw std::runtime_error(rd_kafka_error_string(error.get()));
    }
    rd_kafka_poll(state_->client.get(), 100);
  }
}

void TestProducer::Flush(milliseconds timeout) {
  const auto late = rd_kafka_flush(state_->client.get(), static_cast<int>(timeout.count()));
  if (late != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw std::runtime_error(std::to_string(rd_kafka_outq_len(state_->client.get())) +
                             " messages are not acknowledged: " + rd_kafka_err2str(late));
  }
  if (state_->refused > 0) {
    throw std::runtime_error(std::to_string(state_->refused) +
                             " messages were refused, the first: " + state_->first_refusal);
  }
}

void TestProducer::Begin() {
  state_->Transact("begin", [&] { return rd_kafka_begin_transaction(state_->client.get()); });
}

void TestProducer::Commit() {
  state_->Transact("commit", [&] {
    return rd_kafka_commit_transaction(state_->client.get(), state_->TransactionLimit());
  });
}

void TestProducer::Abort() {
  state_->Transact("abort", [&] {
    return rd_kafka_abort_transaction(state_->client.get(), state_->TransactionLimit());
  });
}

std::size_t TestProducer::acknowledged() const {
  return state_->acknowledged;
}

}  // namespace oncemq::testing
