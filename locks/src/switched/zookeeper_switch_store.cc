// SPDX-License-Identifier: Apache-2.0
// The record is the node /oncemq/switch/<name>/record, its version the node's own and one more;
// what a process says of itself is .../words/ and its name in hex digits.
#include "zookeeper_switch_store.h"

#include <limits>
#include <utility>
#include <vector>

#include "oncemq/base/bytes.h"
#include "oncemq/base/mutex.h"
#include "oncemq/clients/zookeeper_session.h"

namespace oncemq {
namespace {

using Call = ZooKeeperCall;
using Reply = ZooKeeperReply;
using Replies = Result<std::vector<Reply>>;

constexpr ZooKeeperTimes kTimes{.connect = milliseconds(2'000), .call = milliseconds(2'000)};

class ZooKeeperSwitchStore final : public SwitchStore {
 public:
  ZooKeeperSwitchStore(ZooKeeperEndpoint endpoint, const std::string& name)
      : endpoint_(std::move(endpoint)),
        parents_{"/oncemq", "/oncemq/switch", "/oncemq/switch/" + name,
                 "/oncemq/switch/" + name + "/words"},
        record_("/oncemq/switch/" + name + "/record"),
        words_(parents_.back() + "/") {}

  Status MakeParents() {
    for (const std::string& path : parents_) {
      if (const auto made = Run({{.kind = Call::Kind::kCreate, .path = path}}); !made) {
        return made.error();
      }
    }
    return {};
  }

  // What was swapped before it was asked is seen, whichever server answers: behind a write of the
  // same session, which takes the quorum. A leader that was cut off syncs with itself.
  Result<Text> Read() override {
    Call check{.kind = Call::Kind::kMulti};
    check.steps.push_back({.kind = Call::Kind::kCheck, .path = parents_.back()});
    const auto read = Run({check, {.kind = Call::Kind::kGet, .path = record_}});
    if (!read) {
      return read.error();
    }
    if (read->front().kind != Reply::Kind::kDone) {
      return Error{Code::kCorrupt, Effect::kNone, "the nodes of this switchboard were deleted"};
    }
    return TextOf(read->back());
  }

  Result<bool> Swap(std::string_view text, uint64_t version) override {
    if (version > static_cast<uint64_t>(std::numeric_limits<int32_t>::max())) {
      return false;
    }
    Call swap{.kind = Call::Kind::kCreate, .path = record_, .data = std::string(text)};
    if (version > 0) {
      swap.kind = Call::Kind::kSet;
      swap.version = static_cast<int32_t>(version - 1);
    }
    const auto swapped = Run({swap});
    return swapped ? Result<bool>(swapped->front().kind == Reply::Kind::kDone) : swapped.error();
  }

  Status Await(uint64_t version, BootTime until, const std::stop_token& stop) override {
    uint64_t heard = 0;
    {
      MutexLock lock(mutex_);
      heard = changes_;
    }
    // A hint: the read that follows it decides.
    const auto replies = Run({{.kind = Call::Kind::kSync, .path = record_},
                              {.kind = Call::Kind::kGet, .path = record_, .watch = true}});
    const auto now = replies ? Result<Text>(TextOf(replies->back())) : replies.error();
    if (!now || now->version != version || version == 0) {
      return now ? Status() : Status(now.error());  // nobody watches what is not there
    }
    MutexLock lock(mutex_);
    changed_.wait_for(mutex_, stop, until - SystemClock::Instance().Boot(),
                      [&]() REQUIRES(mutex_) { return changes_ != heard; });
    return {};
  }

  Status Say(std::string_view who, std::string_view word) override {
    const std::string path = words_ + HexOfBytes(who);
    const auto set = Run({{.kind = Call::Kind::kSet, .path = path, .data = std::string(word)}});
    if (!set || set->front().kind == Reply::Kind::kDone) {
      return set ? Status() : Status(set.error());
    }
    const auto made = Run({{.kind = Call::Kind::kCreate, .path = path, .data = std::string(word)}});
    return made ? Status() : Status(made.error());
  }

  Result<std::map<std::string, std::string>> Hear() override {
    const auto listed = Run({{.kind = Call::Kind::kSync, .path = parents_.back()},
                             {.kind = Call::Kind::kChildren, .path = parents_.back()}});
    if (!listed) {
      return listed.error();
    }
    std::map<std::string, std::string> said;
    std::vector<Call> reads;
    for (const std::string& child : listed->back().children) {
      reads.push_back({.kind = Call::Kind::kGet, .path = words_ + child});
    }
    if (reads.empty()) {
      return said;
    }
    const auto words = Run(reads);
    if (!words) {
      return words.error();
    }
    for (size_t i = 0; i < reads.size() && i < words->size(); i++) {
      const auto who = BytesOfHex(std::string_view(reads[i].path).substr(words_.size()));
      if (who && (*words)[i].kind == Reply::Kind::kDone) {
        said.emplace(*who, (*words)[i].data);
      }
    }
    return said;
  }

  Status Bury(std::string_view who) override {
    const auto gone = Run({{.kind = Call::Kind::kDelete, .path = words_ + HexOfBytes(who)}});
    return gone ? Status() : Status(gone.error());
  }

 private:
  static Text TextOf(const Reply& record) {
    if (record.kind != Reply::Kind::kDone) {
      return {};
    }
    return {record.data, static_cast<uint64_t>(record.stat.version) + 1};
  }

  // A session that has ended is followed by another one.
  Result<std::shared_ptr<ZooKeeperSession>> Session() {
    std::shared_ptr<ZooKeeperSession> former;  // goes behind the lock: its threads may want it
    MutexLock lock(mutex_);
    if (session_ == nullptr || session_->ended()) {
      auto started = ZooKeeperSession::Start(
          endpoint_, kTimes, {[this](std::string_view) { Changed(); }, [this] { Changed(); }});
      if (!started) {
        return started.error();
      }
      former = std::exchange(session_, *std::move(started));
    }
    return session_;
  }

  Replies Run(std::vector<Call> calls) {
    const auto session = Session();
    if (!session) {
      return session.error();
    }
    if (const Status connected = (*session)->Connected(kTimes.connect); !connected) {
      return connected.error();
    }
    return (*session)->Run(calls);
  }

  void Changed() {
    MutexLock lock(mutex_);
    changes_++;
    changed_.notify_all();
  }

  const ZooKeeperEndpoint endpoint_;
  const std::vector<std::string> parents_;
  const std::string record_;
  const std::string words_;
  Mutex mutex_;
  ConditionVariable changed_;
  uint64_t changes_ GUARDED_BY(mutex_) = 0;
  // Last: its threads use all of the above.
  std::shared_ptr<ZooKeeperSession> session_ GUARDED_BY(mutex_);
};

}  // namespace

Result<std::shared_ptr<SwitchStore>> OpenZooKeeperSwitchStore(std::string_view address,
                                                              const std::string& name) {
  auto endpoint = ParseZooKeeperEndpoint(address);
  if (!endpoint) {
    return endpoint.error();
  }
  auto store = std::make_shared<ZooKeeperSwitchStore>(*std::move(endpoint), name);
  if (const Status made = store->MakeParents(); !made) {
    return made.error();
  }
  return std::shared_ptr<SwitchStore>(std::move(store));
}

}  // namespace oncemq
