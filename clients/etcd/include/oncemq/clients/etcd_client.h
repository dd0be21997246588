// SPDX-License-Identifier: Apache-2.0
// EtcdClient: transactions, leases and watches in one etcd cluster, from any thread, through the
// JSON gateway that every member has (/v3, so 3.4 or newer).
//
// Limits, first: no TLS. The name of a host is looked up without a bound in time.
//
// Promise: every call ends by its deadline. An Error says whether a call may have been done: kNone
// if it was not sent or was refused, kUnknown if its answer did not come. Another member is tried
// only where the first one cannot have acted. A connection that is in doubt is never used again.
// An answer larger than 32 MB is refused.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/etcd_endpoint.h"

namespace oncemq {

struct EtcdTimes {
  milliseconds connect{1'000};
  milliseconds call{2'000};  // one question and its answer, waiting for a connection included
};

// Of which moment of which store an answer is.
struct EtcdHeader {
  uint64_t cluster = 0;
  int64_t revision = 0;  // grows with each change of the store
  uint64_t term = 0;     // grows with each election of a leader
};

struct EtcdEntry {
  std::string key;
  std::string value;    // empty if only keys were asked for
  int64_t created = 0;  // the revision that created it
  int64_t changed = 0;  // the revision that wrote it last
  int64_t version = 0;  // how often it was written since it was created
  int64_t lease = 0;    // 0: none
};

// Of the key, or of every key from `key` to before `end`; a key that is not there has 0 in each
// number, and so has a range without keys.
struct EtcdCompare {
  enum class What : unsigned char { kVersion, kCreated, kChanged, kValue };
  enum class Is : unsigned char { kEqual, kNot, kLess, kGreater };
  What what = What::kVersion;
  Is is = Is::kEqual;
  std::string key;
  std::string end = {};
  int64_t number = 0;
  std::string value = {};
};

struct EtcdTxn;

struct EtcdOp {
  enum class Kind : unsigned char { kRange, kPut, kDelete, kTxn };
  Kind kind = Kind::kRange;
  std::string key = {};
  std::string end = {};  // of a range or a deletion: all keys before it; empty: the key alone
  std::string value = {};
  int64_t lease = 0;         // of a put; the key goes when the lease does
  bool keep_lease = false;   // of a put: the lease stays as it is, and the key must be there
  int64_t limit = 0;         // of a range; 0: all
  bool keys_only = false;    // of a range
  bool in_creation = false;  // of a range: as they were created; else by their bytes
  std::vector<EtcdTxn> txn;  // of kTxn: one
};

// One step of the store: if all comparisons hold, `then`, else `otherwise`.
struct EtcdTxn {
  std::vector<EtcdCompare> if_all = {};
  std::vector<EtcdOp> then = {};
  std::vector<EtcdOp> otherwise = {};
};

// What came of one operation.
struct EtcdReply {
  std::vector<EtcdEntry> entries;  // of a range
  int64_t count = 0;               // of a range: how many there are, whatever the limit
  int64_t deleted = 0;             // of a deletion
  bool succeeded = false;          // of a transaction
  std::vector<EtcdReply> replies;  // of a transaction
};

struct EtcdAnswer {
  EtcdHeader header;
  bool succeeded = false;  // all comparisons held
  std::vector<EtcdReply> replies;
};

struct EtcdLease {
  EtcdHeader header;
  int64_t id = 0;
  std::chrono::seconds ttl{0};  // as the server has it; 0: it is gone
};

struct EtcdWatch {
  std::string key;
  std::string end = {};
  bool puts = true;
  bool deletions = true;
};

struct EtcdEvent {
  enum class Kind : unsigned char { kBegun, kPut, kDeleted };
  Kind kind = Kind::kBegun;  // first of all: what happens from now on is heard
  EtcdEntry entry;
  int64_t revision = 0;
};

// The end of the range of all keys with this prefix, which is not empty.
std::string EtcdEndOf(std::string_view prefix);

// Thread safety: any thread.
class EtcdClient {
 public:
  // Asks once, so that a wrong endpoint, password or version shows at the start.
  static Result<std::unique_ptr<EtcdClient>> Open(const EtcdEndpoint& endpoint,
                                                  const EtcdTimes& times = {},
                                                  size_t max_connections = 16);
  ~EtcdClient();
  EtcdClient(const EtcdClient&) = delete;
  EtcdClient& operator=(const EtcdClient&) = delete;

  // It ends after `within`, or after the time of a call if that is shorter.
  Result<EtcdAnswer> Run(const EtcdTxn& txn, milliseconds within = milliseconds::max());
  // One operation by itself.
  Result<EtcdAnswer> Run(const EtcdOp& op);

  Result<EtcdLease> Grant(std::chrono::seconds ttl);
  Result<EtcdLease> KeepAlive(int64_t lease, milliseconds within = milliseconds::max());
  // Ends it, and removes all of its keys. Failure: kNotFound if it is gone.
  Status Revoke(int64_t lease);

  // Calls `hears` on this thread, until it answers false, at `until`, or when `stop` is requested.
  // On a connection of its own. Failure: the server ended it, or cannot be reached.
  Status Watch(const EtcdWatch& what, BootTime until, const std::stop_token& stop,
               const std::function<bool(const EtcdEvent&)>& hears);

  const EtcdEndpoint& endpoint() const;

 private:
  struct Parts;
  explicit EtcdClient(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace oncemq
