// SPDX-License-Identifier: Apache-2.0
#include "client_stats.h"

#include <charconv>
#include <nlohmann/json.hpp>

namespace oncemq {
namespace {

std::optional<int32_t> PartitionOf(const std::string& name) {
  int32_t partition = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), partition);
  const bool whole = error == std::errc() && end == name.data() + name.size();
  return whole && partition >= 0 ? std::optional(partition) : std::nullopt;
}

}  // namespace

// The text of many partitions has megabytes, most of them histograms: no tree is made of it.
class ClientStats::Parser final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Parser(ClientStats& stats) : stats_(stats) {}

  bool key(string_t& name) override {
    path_.back() = name;
    return true;
  }
  bool start_object(size_t) override { return Enter(); }
  bool start_array(size_t) override { return Enter(); }
  bool end_object() override {
    path_.pop_back();
    if (path_.size() == 2 && path_[0] == "brokers" && silent_ >= 0) {
      stats_.silent_[broker_] = microseconds(silent_);
    }
    return true;
  }
  bool end_array() override {
    path_.pop_back();
    return true;
  }
  bool number_integer(int64_t value) override { return Number(value); }
  bool number_unsigned(uint64_t value) override { return Number(static_cast<int64_t>(value)); }
  bool string(string_t& value) override {
    if (Reading* const reading = AtPartition("fetch_state")) {
      reading->state = value;
    }
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_float(double, const string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool Enter() {
    if (path_.size() == 2 && path_[0] == "brokers") {
      broker_ = silent_ = -1;
    }
    path_.emplace_back();
    return true;
  }
  bool Number(int64_t value) {
    if (path_.size() == 3 && path_[0] == "brokers") {
      broker_ = path_[2] == "nodeid" ? value : broker_;
      silent_ = path_[2] == "rxidle" ? value : silent_;
    } else if (Reading* const reading = AtPartition("broker")) {
      reading->broker = value;
    }
    return true;
  }
  // nullptr: the value is not that of a partition.
  Reading* AtPartition(std::string_view name) {
    if (path_.size() != 5 || path_[4] != name || path_[0] != "topics" || path_[2] != "partitions") {
      return nullptr;
    }
    const auto partition = PartitionOf(path_[3]);
    return partition ? &stats_.readings_[{path_[1], *partition}] : nullptr;
  }

  ClientStats& stats_;
  std::vector<std::string> path_;
  int64_t broker_ = -1;
  int64_t silent_ = -1;
};

ClientStats::ClientStats(std::string_view json) {
  Parser parser(*this);
  if (!nlohmann::json::sax_parse(json, &parser)) {
    readings_.clear();
    silent_.clear();
  }
}

void ClientStats::Fill(const PartitionName& partition, BootTime now, FetchSight& sight) const {
  const auto found = readings_.find({partition.topic, partition.partition});
  if (found == readings_.end()) {
    return;
  }
  sight.state = found->second.state;
  if (const auto silent = silent_.find(found->second.broker); silent != silent_.end()) {
    sight.answer_at = now - silent->second;
  }
}

}  // namespace oncemq
