// SPDX-License-Identifier: Apache-2.0
#include "lock_entry_codec.h"

#include <algorithm>
#include <limits>

#include "oncemq/base/bytes.h"

namespace oncemq {
namespace {

constexpr char kPlain = 1;         // the version without counted parties
constexpr char kCounting = 2;      // the version with them, still without leases
constexpr char kLeases = 3;        // with counted parties, and with the lease of each
constexpr uint64_t kShared = 1;    // a flag of holders and waiters
constexpr uint64_t kRecalled = 2;  // of holders
constexpr uint64_t kCounted = 4;   // of both, from version 2 on
constexpr size_t kLongest = 16u << 20;
constexpr size_t kLongestWho = 64u << 10;
constexpr int64_t kLongestWritten = 1'000'000'000'000;  // ms: added to a time it is a time still

struct Party {
  Token token;
  uint64_t flags = 0;
  BootTime until{};
  milliseconds lease{0};
  std::string who;

  LockMode mode() const {
    return (flags & kCounted) != 0  ? LockMode::kCounted
           : (flags & kShared) != 0 ? LockMode::kShared
                                    : LockMode::kExclusive;
  }
};

uint64_t FlagOf(LockMode mode) {
  return mode == LockMode::kCounted ? kCounted : mode == LockMode::kShared ? kShared : 0;
}

void Append(std::string& out, const Party& party) {
  const int64_t lease = std::clamp<int64_t>(party.lease.count(), 0, kLongestWritten);
  for (const uint64_t number :
       {party.token.process, party.token.attempt, party.flags,
        static_cast<uint64_t>(party.until.time_since_epoch().count()), static_cast<uint64_t>(lease),
        static_cast<uint64_t>(party.who.size())}) {
    AppendVarint(out, number);
  }
  out += party.who;
}

// Reads varints and texts; once something was wrong all that follows is.
class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}

  uint64_t Number(uint64_t most = std::numeric_limits<uint64_t>::max()) {
    ByteReader reader(bytes_);
    const auto number = good_ ? reader.Varint() : std::nullopt;
    good_ = number && *number <= most;
    bytes_ = reader.rest();
    return good_ ? *number : 0;
  }
  std::string Text(size_t longest) {
    const uint64_t length = Number(std::min(longest, bytes_.size()));
    good_ = good_ && length <= bytes_.size();
    const std::string text(good_ ? bytes_.substr(0, length) : std::string_view());
    bytes_.remove_prefix(text.size());
    return text;
  }
  Party OneParty(uint64_t flags, bool with_lease) {
    Party party;
    party.token = {Number(), Number()};
    party.flags = Number(flags);
    good_ = good_ && (party.flags & ~flags) == 0 &&
            (party.flags & (kShared | kCounted)) != (kShared | kCounted);
    party.until = BootTime(
        microseconds(static_cast<int64_t>(Number(uint64_t{std::numeric_limits<int64_t>::max()}))));
    party.lease = milliseconds(with_lease ? static_cast<int64_t>(Number(kLongestWritten)) : 0);
    party.who = Text(kLongestWho);
    return party;
  }
  bool good() const { return good_; }
  bool done() const { return good_ && bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool good_ = true;
};

}  // namespace

std::string EncodeLockEntry(const LockEntry& entry) {
  if (entry.idle()) {
    return {};
  }
  std::string out(1, kLeases);
  AppendVarint(out, entry.holders_.size());
  for (const LockEntry::Holder& holder : entry.holders_) {
    Append(out, {holder.token, FlagOf(holder.mode) | (holder.recalled ? kRecalled : 0),
                 holder.until, holder.lease, holder.who});
    AppendVarint(out, holder.fence.epoch);
    AppendVarint(out, holder.fence.token);
  }
  AppendVarint(out, entry.waiters_.size());
  for (const LockEntry::Waiter& waiter : entry.waiters_) {
    Append(out, {waiter.token, FlagOf(waiter.mode), waiter.until, waiter.lease, waiter.who});
    AppendVarint(out, waiter.home);
    if (waiter.mode == LockMode::kCounted) {
      AppendVarint(out, waiter.limit);
    }
  }
  return out;
}

std::optional<LockEntry> DecodeLockEntry(std::string_view bytes) {
  LockEntry entry;
  if (bytes.empty()) {
    return entry;
  }
  const char version = bytes.front();
  if (version < kPlain || version > kLeases || bytes.size() > kLongest) {
    return std::nullopt;
  }
  const uint64_t modes = kShared | (version == kPlain ? 0 : kCounted);
  const bool leases = version == kLeases;
  Input input(bytes.substr(1));
  for (uint64_t left = input.Number(); left > 0 && input.good(); left--) {
    const Party party = input.OneParty(modes | kRecalled, leases);
    const auto epoch = static_cast<uint32_t>(input.Number(std::numeric_limits<uint32_t>::max()));
    const uint64_t token = input.Number();
    entry.holders_.push_back({party.token, party.mode(), Fence{epoch, token}, party.until,
                              party.lease, (party.flags & kRecalled) != 0, party.who});
  }
  for (uint64_t left = input.Number(); left > 0 && input.good(); left--) {
    const Party party = input.OneParty(modes, leases);
    const uint64_t home = input.Number();
    const bool limited = party.mode() == LockMode::kCounted;
    const auto limit = static_cast<uint32_t>(limited ? input.Number(kMostCounted) : 0);
    entry.waiters_.push_back(
        {party.token, party.mode(), party.until, party.lease, party.who, home, limit});
  }
  const auto beside = [&](const LockEntry::Holder& holder) {
    return holder.mode == entry.holders_.front().mode && holder.mode != LockMode::kExclusive;
  };
  const bool possible = entry.holders_.size() <= 1 ||
                        std::all_of(entry.holders_.begin(), entry.holders_.end(), beside);
  if (!input.done() || !possible || entry.idle()) {
    return std::nullopt;
  }
  return entry;
}

}  // namespace oncemq
