// SPDX-License-Identifier: Apache-2.0
// `add` takes a name: one step, by a server that judges the end of what it keeps.
#include <optional>
#include <utility>

#include "museum_exhibit.h"
#include "oncemq/clients/memcached_client.h"

namespace oncemq::testing {
namespace {

using Command = MemcachedCommand;
using Reply = MemcachedReply;

// Whole ones, of which the first may be short; and now and then its clock misses one.
std::chrono::seconds Kept(milliseconds lease) {
  return std::chrono::ceil<std::chrono::seconds>(lease) + std::chrono::seconds(2);
}

class AddAndDropOwn : public Exhibit {
 public:
  explicit AddAndDropOwn(std::unique_ptr<MemcachedClient> client) : client_(std::move(client)) {}
  Result<LockAnswer> Request(const AcquireRequest& request) override {
    const std::string mine = TextOf(request.token);
    const auto added = client_->Run({.kind = Command::Kind::kAdd,
                                     .key = request.name,
                                     .value = mine,
                                     .kept = Kept(request.lease)});
    if (!added || added->kind == Reply::Kind::kDone) {
      return added ? Granted(1) : added.error();
    }
    // a request that is repeated
    return Granted(ExtendOne({request.name, request.token, request.lease}));
  }

 protected:
  Result<int64_t> ExtendOne(const LockClaim& claim) override {
    const std::string mine = TextOf(claim.token);
    return OfWhatIsThere(claim, [&](const Reply& there) -> std::optional<Command> {
      if (there.value != mine) {
        return std::nullopt;
      }
      return Command{.kind = Command::Kind::kSwap,
                     .key = claim.name,
                     .value = mine,
                     .kept = Kept(claim.lease),
                     .version = there.version};
    });
  }
  Result<int64_t> FreeOne(const LockClaim& claim) override {
    return OfWhatIsThere(claim, [&](const Reply& there) -> std::optional<Command> {
      if (!MayDrop(there, TextOf(claim.token))) {
        return std::nullopt;
      }
      return Command{.kind = Command::Kind::kDrop, .key = claim.name, .version = there.version};
    });
  }
  virtual bool MayDrop(const Reply& there, const std::string& mine) { return there.value == mine; }

 private:
  // What came between the look and the change may have been its own: an extension that was on its
  // way when the name was given back. So it looks again.
  template <class Change>
  Result<int64_t> OfWhatIsThere(const LockClaim& claim, const Change& change) {
    for (;;) {
      const auto there = client_->Run({.key = claim.name});
      if (!there || there->kind != Reply::Kind::kFound) {
        return there ? Result<int64_t>(0) : there.error();
      }
      const std::optional<Command> command = change(*there);
      const auto done = command ? client_->Run(*command) : Result<Reply>(Reply{});
      if (!done || done->kind != Reply::Kind::kRefused) {
        return done ? Result<int64_t>(done->kind == Reply::Kind::kDone ? 1 : 0) : done.error();
      }
    }
  }

  const std::unique_ptr<MemcachedClient> client_;
};

// `delete`, as it is in every tutorial: whatever is there goes. Our client has no such command, so
// it is said in two.
class BlindDelete final : public AddAndDropOwn {
 public:
  using AddAndDropOwn::AddAndDropOwn;

 private:
  bool MayDrop(const Reply&, const std::string&) override { return true; }
};

}  // namespace

OpenedExhibit OpenMemcachedExhibit(std::string_view name, std::string_view at) {
  const auto endpoint = ParseMemcachedEndpoint(at);
  if (!endpoint) {
    return endpoint.error();
  }
  auto client = MemcachedClient::Open(*endpoint);
  if (!client) {
    return client.error();
  }
  if (name == "blind-delete") {
    return std::shared_ptr<LockEngine>(std::make_shared<BlindDelete>(*std::move(client)));
  }
  return std::shared_ptr<LockEngine>(std::make_shared<AddAndDropOwn>(*std::move(client)));
}

}  // namespace oncemq::testing
