// SPDX-License-Identifier: Apache-2.0
#include "etcd_json.h"

#include <array>
#include <charconv>

#include "oncemq/base/bytes.h"

namespace oncemq {
namespace {

using nlohmann::json;

// The gateway wants the padding that Base64Encode leaves out.
std::string Base64(std::string_view bytes) {
  std::string text = Base64Encode(bytes);
  text.resize((text.size() + 3) / 4 * 4, '=');
  return text;
}

// Writes the members of an object, one by one.
class Object {
 public:
  explicit Object(std::string& out) : out_(out) { out_.push_back('{'); }
  ~Object() { out_.push_back('}'); }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  std::string& Name(std::string_view name) {
    out_.append(first_ ? "\"" : ",\"").append(name).append("\":");
    first_ = false;
    return out_;
  }
  void Bytes(std::string_view name, std::string_view value) {
    Name(name).append("\"").append(Base64(value)).append("\"");
  }
  void Number(std::string_view name, int64_t value) {
    Name(name).append("\"").append(std::to_string(value)).append("\"");
  }
  void Word(std::string_view name, std::string_view value) {
    Name(name).append("\"").append(value).append("\"");
  }
  void Yes(std::string_view name) { Name(name).append("true"); }

 private:
  std::string& out_;
  bool first_ = true;
};

void Append(std::string& out, const EtcdTxn& txn);

void Append(std::string& out, const EtcdCompare& compare) {
  constexpr std::array kWhat = {"VERSION", "CREATE", "MOD", "VALUE"};
  constexpr std::array kMember = {"version", "create_revision", "mod_revision", "value"};
  constexpr std::array kIs = {"EQUAL", "NOT_EQUAL", "LESS", "GREATER"};
  const auto what = static_cast<size_t>(compare.what);
  Object object(out);
  object.Word("target", kWhat[what]);
  object.Word("result", kIs[static_cast<size_t>(compare.is)]);
  object.Bytes("key", compare.key);
  if (!compare.end.empty()) {
    object.Bytes("range_end", compare.end);
  }
  if (compare.what == EtcdCompare::What::kValue) {
    object.Bytes(kMember[what], compare.value);
  } else {
    object.Number(kMember[what], compare.number);
  }
}

void Append(std::string& out, const EtcdOp& op) {
  using Kind = EtcdOp::Kind;
  constexpr std::array kName = {"request_range", "request_put", "request_delete_range",
                                "request_txn"};
  Object outer(out);
  outer.Name(kName[static_cast<size_t>(op.kind)]);
  if (op.kind == Kind::kTxn) {
    Append(out, op.txn.empty() ? EtcdTxn{} : op.txn.front());
    return;
  }
  Object object(out);
  object.Bytes("key", op.key);
  if (!op.end.empty() && op.kind != Kind::kPut) {
    object.Bytes("range_end", op.end);
  }
  if (op.kind == Kind::kPut) {
    object.Bytes("value", op.value);
    object.Number("lease", op.lease);
    if (op.keep_lease) {
      object.Yes("ignore_lease");
    }
  } else if (op.kind == Kind::kRange) {
    object.Number("limit", op.limit);
    if (op.keys_only) {
      object.Yes("keys_only");
    }
    if (op.in_creation) {
      object.Word("sort_target", "CREATE");
      object.Word("sort_order", "ASCEND");
    }
  }
}

template <class T>
void AppendList(Object& object, std::string& out, std::string_view name,
                const std::vector<T>& all) {
  object.Name(name).push_back('[');
  for (size_t i = 0; i < all.size(); i++) {
    out.append(i == 0 ? "" : ",");
    Append(out, all[i]);
  }
  out.push_back(']');
}

void Append(std::string& out, const EtcdTxn& txn) {
  Object object(out);
  AppendList(object, out, "compare", txn.if_all);
  AppendList(object, out, "success", txn.then);
  AppendList(object, out, "failure", txn.otherwise);
}

Error Strange() {
  return {Code::kCorrupt, Effect::kUnknown, "etcd answered something that is no answer"};
}

const json* Find(const json& object, const char* name) {
  const auto at = object.is_object() ? object.find(name) : object.end();
  return at == object.end() ? nullptr : &*at;
}

// A number, which may stand in a string; 0 where there is none.
template <class T>
T NumberOf(const json& object, const char* name) {
  const json* at = Find(object, name);
  if (at == nullptr) {
    return 0;
  }
  if (at->is_number_integer()) {
    return at->is_number_unsigned() ? static_cast<T>(*at->get_ptr<const json::number_unsigned_t*>())
                                    : static_cast<T>(*at->get_ptr<const json::number_integer_t*>());
  }
  T value = 0;
  const std::string_view text = TextOf(object, name);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

bool IsTrue(const json& object, const char* name) {
  const json* at = Find(object, name);
  return at != nullptr && at->is_boolean() && *at->get_ptr<const json::boolean_t*>();
}

std::optional<std::string> BytesOf(const json& object, const char* name) {
  std::string_view text = TextOf(object, name);
  while (text.ends_with('=')) {
    text.remove_suffix(1);
  }
  return Base64Decode(text);
}

std::optional<EtcdHeader> HeaderOf(const json& object) {
  const json* at = Find(object, "header");
  if (at == nullptr || NumberOf<int64_t>(*at, "revision") <= 0) {
    return std::nullopt;
  }
  return EtcdHeader{NumberOf<uint64_t>(*at, "cluster_id"), NumberOf<int64_t>(*at, "revision"),
                    NumberOf<uint64_t>(*at, "raft_term")};
}

std::optional<EtcdEntry> EntryOf(const json& object) {
  auto key = BytesOf(object, "key");
  auto value = BytesOf(object, "value");
  if (!key || !value) {
    return std::nullopt;
  }
  return EtcdEntry{*std::move(key),
                   *std::move(value),
                   NumberOf<int64_t>(object, "create_revision"),
                   NumberOf<int64_t>(object, "mod_revision"),
                   NumberOf<int64_t>(object, "version"),
                   NumberOf<int64_t>(object, "lease")};
}

// An answer is nested as the question was; none is deeper.
std::optional<std::vector<EtcdReply>> RepliesOf(const json& object, int deeper = 8);

std::optional<EtcdReply> ReplyOf(const json& object, int deeper) {
  EtcdReply reply;
  if (const json* range = Find(object, "response_range")) {
    reply.count = NumberOf<int64_t>(*range, "count");
    const json* entries = Find(*range, "kvs");
    for (size_t i = 0; entries != nullptr && entries->is_array() && i < entries->size(); i++) {
      auto entry = EntryOf((*entries)[i]);
      if (!entry) {
        return std::nullopt;
      }
      reply.entries.push_back(*std::move(entry));
    }
  } else if (const json* gone = Find(object, "response_delete_range")) {
    reply.deleted = NumberOf<int64_t>(*gone, "deleted");
  } else if (const json* txn = Find(object, "response_txn")) {
    auto replies = RepliesOf(*txn, deeper - 1);
    if (!replies) {
      return std::nullopt;
    }
    reply.succeeded = IsTrue(*txn, "succeeded");
    reply.replies = *std::move(replies);
  } else if (Find(object, "response_put") == nullptr) {
    return std::nullopt;
  }
  return reply;
}

std::optional<std::vector<EtcdReply>> RepliesOf(const json& object, int deeper) {
  std::vector<EtcdReply> replies;
  const json* all = Find(object, "responses");
  for (size_t i = 0; all != nullptr && all->is_array() && i < all->size(); i++) {
    auto reply = deeper > 0 ? ReplyOf((*all)[i], deeper) : std::nullopt;
    if (!reply) {
      return std::nullopt;
    }
    replies.push_back(*std::move(reply));
  }
  return replies;
}

}  // namespace

std::string_view TextOf(const json& object, const char* name) {
  const json* at = Find(object, name);
  return at != nullptr && at->is_string() ? std::string_view(*at->get_ptr<const std::string*>())
                                          : std::string_view();
}

std::string JsonOf(const EtcdTxn& txn) {
  std::string out;
  Append(out, txn);
  return out;
}

std::string JsonOf(const EtcdWatch& watch) {
  std::string out;
  {
    Object outer(out);
    outer.Name("create_request");
    Object object(out);
    object.Bytes("key", watch.key);
    if (!watch.end.empty()) {
      object.Bytes("range_end", watch.end);
    }
    object.Name("filters").append(watch.puts ? "[" : "[\"NOPUT\"");
    out.append(watch.puts || watch.deletions ? "" : ",")
        .append(watch.deletions ? "" : "\"NODELETE\"");
    out.push_back(']');
  }
  return out;
}

std::string JsonText(std::string_view text) {
  return json(std::string(text)).dump(-1, ' ', true, json::error_handler_t::replace);
}

std::optional<json> ParseJson(std::string_view text) {
  json parsed = json::parse(text, nullptr, false);
  return parsed.is_object() ? std::optional(std::move(parsed)) : std::nullopt;
}

Result<EtcdAnswer> TxnOf(const json& object) {
  const auto header = HeaderOf(object);
  auto replies = RepliesOf(object);
  if (!header || !replies) {
    return Strange();
  }
  return EtcdAnswer{*header, IsTrue(object, "succeeded"), *std::move(replies)};
}

Result<EtcdLease> LeaseOf(const json& object) {
  const auto header = HeaderOf(object);
  if (!header) {
    return Strange();
  }
  return EtcdLease{*header, NumberOf<int64_t>(object, "ID"),
                   std::chrono::seconds(NumberOf<int64_t>(object, "TTL"))};
}

Result<bool> HearLine(std::string_view line, const std::function<bool(const EtcdEvent&)>& hears) {
  const auto parsed = ParseJson(line);
  const json* result = parsed ? Find(*parsed, "result") : nullptr;
  if (parsed && Find(*parsed, "error") != nullptr) {
    return EtcdError(*Find(*parsed, "error"));
  }
  const auto header = result != nullptr ? HeaderOf(*result) : std::nullopt;
  if (!header) {
    return Strange();
  }
  if (IsTrue(*result, "canceled")) {
    return Error{Code::kUnavailable, Effect::kNone,
                 "etcd ended a watch: " + std::string(TextOf(*result, "cancel_reason"))};
  }
  EtcdEvent event;
  event.revision = header->revision;
  if (IsTrue(*result, "created") && !hears(event)) {
    return false;
  }
  const json* events = Find(*result, "events");
  for (size_t i = 0; events != nullptr && events->is_array() && i < events->size(); i++) {
    const json& one = (*events)[i];
    const json* entry = Find(one, "kv");
    auto read = entry != nullptr ? EntryOf(*entry) : std::nullopt;
    if (!read) {
      return Strange();
    }
    event.kind =
        TextOf(one, "type") == "DELETE" ? EtcdEvent::Kind::kDeleted : EtcdEvent::Kind::kPut;
    event.entry = *std::move(read);
    if (!hears(event)) {
      return false;
    }
  }
  return true;
}

Error EtcdError(const json& object) {
  const std::string_view said = TextOf(object, "message");
  const std::string_view text = said.empty() ? TextOf(object, "error") : said;
  const int64_t number =
      std::max(NumberOf<int64_t>(object, "code"), NumberOf<int64_t>(object, "grpc_code"));
  Error error{Code::kInternal, Effect::kUnknown, "etcd: " + std::string(text.substr(0, 300))};
  const auto none = [&](Code code) {
    error.code = code;
    error.effect = Effect::kNone;
  };
  // The token has ended, and a new one is let in.
  const bool old_token = text.find("invalid auth token") != text.npos ||
                         text.find("revision of auth store is old") != text.npos;
  switch (number) {  // google.golang.org/grpc/codes
    case 3:          // invalid argument
    case 7:          // permission denied
    case 9:          // failed precondition
    case 11:         // out of range: a revision that is compacted, or not there yet
    case 12:         // not implemented
    case 16:         // unauthenticated
      none(old_token ? Code::kRefused : Code::kInvalid);
      break;
    case 5:
      none(Code::kNotFound);
      break;
    case 8:  // no space, or too many requests
      none(Code::kFull);
      break;
    case 4:
      error.code = Code::kTimeout;
      break;
    case 14:
      error.code = Code::kUnavailable;
      // The others are said of questions that may be under way already.
      error.effect = text == "etcdserver: no leader" ? Effect::kNone : Effect::kUnknown;
      break;
    default:
      break;
  }
  return error;
}

}  // namespace oncemq
