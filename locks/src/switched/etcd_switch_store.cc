// SPDX-License-Identifier: Apache-2.0
// The record is the key oncemq/switch/1/<name>/record, its version the revision that wrote it; what
// a process says of itself is .../word/ and its name in hex digits.
#include "etcd_switch_store.h"

#include <utility>

#include "oncemq/base/bytes.h"
#include "oncemq/clients/etcd_client.h"

namespace oncemq {
namespace {

constexpr EtcdTimes kTimes{.connect = milliseconds(1'000), .call = milliseconds(2'000)};

class EtcdSwitchStore final : public SwitchStore {
 public:
  EtcdSwitchStore(std::unique_ptr<EtcdClient> client, const std::string& name)
      : client_(std::move(client)),
        record_("oncemq/switch/1/" + name + "/record"),
        words_("oncemq/switch/1/" + name + "/word/") {}

  Result<Text> Read() override {
    const auto answer = client_->Run(EtcdOp{.kind = EtcdOp::Kind::kRange, .key = record_});
    if (!answer) {
      return answer.error();
    }
    if (answer->replies.empty() || answer->replies[0].entries.empty()) {
      return Text{};
    }
    const EtcdEntry& entry = answer->replies[0].entries[0];
    return Text{entry.value, static_cast<uint64_t>(entry.changed)};
  }

  Result<bool> Swap(std::string_view text, uint64_t version) override {
    const EtcdTxn swap{
        .if_all = {{.what = EtcdCompare::What::kChanged,
                    .key = record_,
                    .number = static_cast<int64_t>(version)}},
        .then = {{.kind = EtcdOp::Kind::kPut, .key = record_, .value = std::string(text)}}};
    const auto answer = client_->Run(swap);
    return answer ? Result<bool>(answer->succeeded) : answer.error();
  }

  Status Await(uint64_t version, BootTime until, const std::stop_token& stop) override {
    bool changed = false;
    // The watch begins to hear, then the record is looked at, so no change falls in between.
    return client_->Watch({.key = record_}, until, stop, [&](const EtcdEvent& event) {
      if (event.kind == EtcdEvent::Kind::kBegun) {
        const auto now = Read();
        changed = now && now->version != version;
      } else {
        changed = true;
      }
      return !changed;
    });
  }

  Status Say(std::string_view who, std::string_view word) override {
    return Done(EtcdOp{
        .kind = EtcdOp::Kind::kPut, .key = words_ + HexOfBytes(who), .value = std::string(word)});
  }

  Result<std::map<std::string, std::string>> Hear() override {
    const auto answer =
        client_->Run(EtcdOp{.kind = EtcdOp::Kind::kRange, .key = words_, .end = EtcdEndOf(words_)});
    if (!answer) {
      return answer.error();
    }
    std::map<std::string, std::string> said;
    for (const EtcdReply& reply : answer->replies) {
      for (const EtcdEntry& entry : reply.entries) {
        if (const auto who = BytesOfHex(std::string_view(entry.key).substr(words_.size()))) {
          said.emplace(*who, entry.value);
        }
      }
    }
    return said;
  }

  Status Bury(std::string_view who) override {
    return Done(EtcdOp{.kind = EtcdOp::Kind::kDelete, .key = words_ + HexOfBytes(who)});
  }

 private:
  Status Done(const EtcdOp& op) {
    const auto answer = client_->Run(op);
    return answer ? Status() : Status(answer.error());
  }

  const std::unique_ptr<EtcdClient> client_;
  const std::string record_;
  const std::string words_;
};

}  // namespace

Result<std::shared_ptr<SwitchStore>> OpenEtcdSwitchStore(std::string_view address,
                                                         const std::string& name) {
  const auto endpoint = ParseEtcdEndpoint(address);
  if (!endpoint) {
    return endpoint.error();
  }
  auto client = EtcdClient::Open(*endpoint, kTimes, 4);
  if (!client) {
    return client.error();
  }
  return std::shared_ptr<SwitchStore>(std::make_shared<EtcdSwitchStore>(*std::move(client), name));
}

}  // namespace oncemq
