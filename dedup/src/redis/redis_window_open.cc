// SPDX-License-Identifier: Apache-2.0
// The window in Redis: how it is opened, and how it recognises a server that has lost changes.
#include <algorithm>
#include <array>

#include "../remember_times.h"
#include "../window_check.h"
#include "oncemq/base/bytes.h"
#include "oncemq/base/log.h"
#include "oncemq/base/random.h"
#include "oncemq/base/store_login.h"
#include "packed.h"
#include "redis_owned_window.h"
#include "redis_window_engine.h"
#include "server_judge.h"

namespace oncemq {
namespace {

constexpr std::string_view kVersion = "1";
constexpr std::string_view kOwnedVersion = "1, owned";  // older programs refuse it
constexpr int kRunTries = 5;              // until a lost store is as it is believed to be
constexpr uint64_t kPackedIds = 96;       // in a bucket that is looked through quickly
constexpr uint64_t kLeastListpack = 128;  // fields of a packed hash, in every version
constexpr size_t kPackedValue = 64;       // bytes
// By preamble.lua a week; less an hour, for the server's clock.
constexpr milliseconds kCountKept = std::chrono::hours(24 * 7 - 1);

bool IsPlain(char c) {
  return c > ' ' && c < '\x7F' && c != '{' && c != '}';
}

// All keys of a scope share a hash tag, so no byte of its name may end that.
std::string KeysOf(const RedisWindowOptions& options) {
  std::string keys = options.prefix + ":{";
  for (const char c : options.scope) {
    keys += IsPlain(c) && c != '%' ? std::string(1, c) : "%" + HexOfBytes({&c, 1});
  }
  return keys + "}:";
}

Status CheckOptions(const RedisWindowOptions& options) {
  if (Status fit = CheckPromise(options.level, options.times, "redis"); !fit) {
    return fit;
  }
  if (options.prefix.empty() || options.prefix.size() > 64 ||
      !std::all_of(options.prefix.begin(), options.prefix.end(), IsPlain)) {
    return InvalidRequest(
        "a prefix has 1 to 64 printable characters, and neither spaces nor braces");
  }
  if (options.scope.empty() || options.scope.size() > 512 || options.remember <= milliseconds(0) ||
      options.skew < milliseconds(0) || options.replicas < 0) {
    return InvalidRequest(
        "a window needs a scope of at most 512 bytes, remember > 0, skew >= 0 and replicas >= 0");
  }
  if (options.remember > kLongestKeep || options.skew > kLongestKeep) {
    return InvalidRequest("remember and skew are a century at most");
  }
  return {};
}

// Of CONFIG GET hash-max-*, which not every user and not every server has.
uint64_t ConfigOf(const std::vector<RedisReply>& replies, std::string_view end) {
  for (const RedisReply& reply : replies) {
    for (size_t i = 0; i + 1 < reply.list.size(); i += 2) {
      const std::string& name = reply.list[i].text;
      if (name.ends_with("listpack-" + std::string(end)) ||
          name.ends_with("ziplist-" + std::string(end))) {
        return static_cast<uint64_t>(ParseDecimal(reply.list[i + 1].text).value_or(0));
      }
    }
  }
  return 0;
}

}  // namespace

WindowCapabilities RedisWindowCapabilities(bool partition_owned) {
  if (partition_owned) {
    return {.engine = "redis",
            .durable = true,
            .keeps_results = false,
            .ages = true,
            .by_partition = true,
            .partition_owned = true,
            .remote = true,
            .keeps_history = true,
            .keeps_claims = false};
  }
  return {.engine = "redis",
          .shared = true,
          .durable = true,
          .ages = true,
          .remote = true,
          .keeps_history = true,
          .timed = true};
}

RedisWindow::RedisWindow(std::unique_ptr<RedisClient> client, const RedisWindowOptions& options,
                         const Server& server, std::string_view clock)
    : capabilities_([&] {
        WindowCapabilities can = RedisWindowCapabilities(options.partition_owned);
        can.level = *options.level;
        can.times = options.times;
        can.survives_restart = server.keeps;
        can.lacks_replicas = std::max(options.replicas - server.replicas, 0);
        can.longest_call = options.connect + 2 * options.call;
        return can;
      }()),
      options_(options),
      base_(KeysOf(options)),
      key_(base_ + "scope"),
      process_(HexOfBytes([] {
        std::string random;
        AppendPacked(random, SecureRandom64(), 8);
        return random;
      }())),
      bucket_ids_(std::to_string(server.bucket_ids)),
      scripts_(clock),
      client_(std::move(client)),
      reports_(options.scope, options.remember, *options.level == Level::kOpaque) {}

// Whether it fits is judged on each connection, and by the client that it is a master.
Result<RedisWindow::Server> RedisWindow::SetUp(RedisClient& client,
                                               const ServerJudge::Server& found) {
  const std::array commands{RedisCommand{"CONFIG", "GET", "hash-max-*"}};
  const auto config = client.Run(commands);
  if (!config) {
    return config.error();
  }
  const uint64_t fields = ConfigOf(*config, "entries");
  const uint64_t value = ConfigOf(*config, "value");
  // A hash that is not packed is none the better for few ids.
  const bool packs = value == 0 || value >= kPackedValue;
  const uint64_t ids = std::min((fields == 0 ? kLeastListpack : fields) * 3 / 4, kPackedIds);
  return Server{.keeps = found.keeps,
                .replicas = found.replicas,
                .bucket_ids = packs ? std::max<uint64_t>(ids, 1) : kPackedIds};
}

Result<std::unique_ptr<RedisWindow>> RedisWindow::OpenAt(std::string_view address,
                                                         const RedisWindowOptions& options,
                                                         std::string_view clock) {
  if (Status fit = CheckOptions(options); !fit) {
    return fit.error();
  }
  const auto endpoint = ParseReadable(address, options.read_address, ParseRedisEndpoint);
  if (!endpoint) {
    return endpoint.error();
  }
  const auto judge = std::make_shared<ServerJudge>(options.scope);
  auto client =
      RedisClient::Open(*endpoint, {options.connect, options.call}, options.max_connections,
                        [judge](std::string_view info) { return (*judge)(info); });
  if (!client) {
    return client.error();
  }
  const auto server = SetUp(**client, judge->server());
  if (!server) {
    return server.error();
  }
  std::unique_ptr<RedisWindow> window(new RedisWindow(*std::move(client), options, *server, clock));
  if (Status may = window->CheckRights(); !may) {
    return may.error();
  }
  auto found = window->FindScope(window->Opening(), /*again=*/false);
  if (!found) {
    return found.error();
  }
  const Status fits =
      options.existing_only
          ? Status()
          : CheckRememberTimes(RequestedTimes(options), found->remembers, ScopeText(options.scope));
  if (!fits) {
    return fits.error();
  }
  judge->Opened();
  MutexLock lock(window->mutex_);
  window->snapshot_.scope = std::move(found->scope);
  return window;
}

Status RedisWindow::CheckRights() {
  if (!options_.check_rights) {
    return {};
  }
  auto lacks = Run(scripts_.rights, {key_, options_.partition_owned ? "1" : "0"});
  if (!lacks) {
    return lacks.error();
  }
  if (options_.replicas > 0) {  // scripts cannot wait
    const std::array waits{RedisCommand{"WAIT", "0", "1"}};
    const auto waited = client_->Run(waits);
    if (!waited) {
      return waited.error();
    }
    if (RedisError(waited->front().text).code == Code::kInvalid) {
      *lacks += lacks->empty() ? "WAIT" : ", WAIT";
    }
  }
  if (!lacks->empty()) {
    return InvalidRequest("the user of the address may not run " + *lacks + " on ~" +
                          options_.prefix + ":*; grant it (ACL SETUSER)");
  }
  return {};
}

Result<std::vector<RedisReply>> RedisWindow::Read(std::span<const RedisCommand> commands) {
  return guarded_([&]() -> Result<std::vector<RedisReply>> { return ReadUnguarded(commands); });
}

Result<std::vector<RedisReply>> RedisWindow::ReadUnguarded(std::span<const RedisCommand> commands) {
  auto replies = client_->Run(commands);
  if (!replies) {
    return replies.error();
  }
  for (const RedisReply& reply : *replies) {
    if (reply.kind == RedisReply::Kind::kError) {
      return RedisError(reply.text);
    }
  }
  return replies;
}

// WAIT is about the changes of its own connection, so the script goes over the same one.
Result<std::vector<RedisReply>> RedisWindow::RunAndWait(const RedisScript& script,
                                                        const RedisCommand& arguments,
                                                        int replicas) {
  const std::string wanted = std::to_string(replicas);
  const std::string within = std::to_string(std::max<int64_t>(options_.call.count() / 2, 1));
  std::array commands{RedisCommand{"EVALSHA", script.sha1(), "1"},
                      RedisCommand{"WAIT", wanted, within}};
  commands[0].insert(commands[0].end(), arguments.begin(), arguments.end());
  auto replies = client_->Run(commands);
  if (replies && RedisLacksScript(replies->front())) {
    commands[0][0] = "EVAL";
    commands[0][1] = script.source();
    replies = client_->Run(commands);
  }
  return replies;
}

Result<std::string> RedisWindow::Run(const RedisScript& script, const RedisCommand& arguments,
                                     int replicas) {
  RedisReply waited;
  auto answer = guarded_([&]() -> Result<std::string> {
    auto replies = replicas > 0 ? RunAndWait(script, arguments, replicas)
                                : client_->Call(script, 1, {&arguments, 1});
    if (!replies) {
      return replies.error();
    }
    waited = std::move(replies->back());
    RedisReply& first = replicas > 0 ? replies->front() : waited;
    if (first.kind == RedisReply::Kind::kError) {
      return RedisError(first.text);
    }
    return first.kind == RedisReply::Kind::kText ? Result<std::string>(std::move(first.text))
                                                 : RedisStrange();
  });
  if (!answer || replicas == 0 || !(answer->starts_with('W') || answer->starts_with('S'))) {
    return answer;
  }
  if (waited.kind == RedisReply::Kind::kError) {
    Error error = RedisError(waited.text);
    error.effect = Effect::kUnknown;
    return error;
  }
  // Not guarded: the server has answered.
  if (waited.integer < replicas) {
    return Error{Code::kUnavailable, Effect::kUnknown,
                 std::to_string(waited.integer) + " of " + std::to_string(replicas) +
                     " replicas have the changes"};
  }
  return answer;
}

// Another process may be faster: then its scope is found.
Result<RedisWindow::FoundScope> RedisWindow::FindScope(std::string_view change, bool again) {
  std::string secret;
  while (secret.size() < KeyedHash::kSecretBytes) {
    AppendPacked(secret, SecureRandom64(), 8);
  }
  std::string incarnation;
  AppendPacked(incarnation, SecureRandom64() >> 1 | 1, 8);
  const std::string made = HexOfBytes(incarnation);
  const std::string level = std::to_string(static_cast<int>(*options_.level));
  const std::string remember = std::to_string(options_.remember.count());
  const std::string skew = std::to_string(options_.skew.count());
  const std::string_view version = options_.partition_owned ? kOwnedVersion : kVersion;
  const auto found = Run(scripts_.scope, {key_, version, made, secret, level, remember, skew,
                                          change, again ? "1" : "0"});
  if (!found) {
    return found.error();
  }
  if (found->empty()) {
    return NoSuchScope(options_.scope, options_.expect_scope);
  }
  std::string_view rest = *found;
  const auto take = [&rest](auto& words) {
    for (std::string_view& word : words) {
      const size_t end = rest.find('\n');
      word = rest.substr(0, end);
      rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    }
  };
  std::array<std::string_view, 5> news;
  std::array<std::string_view, 5> words;
  take(news);
  take(words);
  if (words[0] != version && (words[0] == kVersion || words[0] == kOwnedVersion)) {
    const bool owned = words[0] == kOwnedVersion;
    return InvalidRequest("the scope \"" + options_.scope + "\" in Redis was made for ids that " +
                          (owned ? "their partition owns" : "cross partitions") +
                          "; say so (`ids: " + (owned ? "partition_owned" : "crossing") +
                          "`), or choose another scope");
  }
  if (words[0] != version) {
    return InvalidRequest("the scope \"" + options_.scope + "\" in Redis is of version " +
                          std::string(words[0]) + "; this program knows version " +
                          std::string(version));
  }
  const auto in_force = [&](size_t word) {
    return milliseconds(ParseDecimal(words[word]).value_or(0));
  };
  if (words[4].size() != 16 || !ParseHex(words[4]) || rest.size() != KeyedHash::kSecretBytes) {
    return Error{Code::kCorrupt, Effect::kNone, "the scope of the window cannot be read"};
  }
  if (words[1] != level) {
    const auto other = static_cast<Level>(ParseDecimal(words[1]).value_or(0));
    return InvalidRequest("the scope \"" + options_.scope + "\" was made at level " +
                          std::string(ToString(other)) + ", not " +
                          std::string(ToString(*options_.level)) +
                          "; choose another scope and another group for another level");
  }
  auto scope = std::make_shared<Scope>();
  scope->incarnation = std::string(words[4]);
  if (change != "none") {
    const auto number = [&news](size_t i) { return ParseDecimal(news[i]).value_or(0); };
    // A loss that this process has lived through is told.
    reports_.Opened({number(0) == 1, number(1), number(2), again ? 0 : number(3), number(4)});
  }
  std::copy_n(rest.begin(), rest.size(), scope->secret.begin());
  return FoundScope{std::move(scope), {in_force(2), in_force(3)}};
}

Result<RememberTimes> RedisWindow::Remember(RememberChange change) {
  const auto found = FindScope(change == RememberChange::kExtend    ? "extend"
                               : change == RememberChange::kReplace ? "replace"
                                                                    : "none",
                               /*again=*/true);
  if (!found) {
    return found.error();
  }
  const Status fits = CheckRememberTimes(RequestedTimes(options_), found->remembers,
                                         ScopeText(options_.scope), change);
  return fits ? Result<RememberTimes>(found->remembers) : fits.error();
}

Result<RedisWindow::ServerSnapshot> RedisWindow::SnapshotFor(
    std::span<const Partition> partitions) {
  MutexLock lock(mutex_);
  for (const Partition& partition : partitions) {
    const auto found = opened_.find(partition);
    if (found != opened_.end() && found->second != snapshot_.losses) {
      return Error{Code::kLostWrites, Effect::kNone,
                   "Redis has lost changes that it had acknowledged"};
    }
  }
  return snapshot_;
}

Result<std::optional<std::string>> RedisWindow::TryRun(const RedisScript& script,
                                                       const ServerSnapshot& snapshot,
                                                       const ScriptArguments& arguments,
                                                       int replicas) {
  std::string count;
  {
    // Not the count of the snapshot: others were answered since.
    MutexLock lock(mutex_);
    if (snapshot_.losses != snapshot.losses) {
      return std::optional<std::string>();
    }
    count = std::to_string(counts_.newest());
  }
  RedisCommand all{key_, snapshot.scope->incarnation, count, process_};
  all.insert(all.end(), arguments.views().begin(), arguments.views().end());
  auto answer = Run(script, all, replicas);
  if (!answer) {
    return answer.error();
  }
  if (!answer->starts_with('L')) {
    return std::optional<std::string>(*std::move(answer));
  }
  if (Status noted = NoteLoss(snapshot, *answer); !noted) {
    return noted.error();
  }
  return std::optional<std::string>();
}

Result<std::string> RedisWindow::RunFor(std::span<const Partition> partitions,
                                        const RedisScript& script, const ScriptArguments& arguments,
                                        int replicas, ServerSnapshot* under) {
  bool made = false;
  for (int i = 0; i < kRunTries; i++) {
    const auto snapshot = SnapshotFor(partitions);
    if (!snapshot) {
      Error error = snapshot.error();
      error.effect = made ? Effect::kUnknown : error.effect;
      return error;
    }
    auto answer = TryRun(script, *snapshot, arguments, replicas);
    if (!answer) {
      Error error = answer.error();
      error.effect = made ? Effect::kUnknown : error.effect;
      return error;
    }
    if (under != nullptr) {
      *under = *snapshot;
    }
    if (*answer) {
      PackedReader reader(**answer);
      const bool counts = std::string_view("KRW").find(reader.Bytes(1)) != std::string_view::npos;
      const uint64_t count = reader.Number(8);
      if (!counts || !reader.good() || NoteCount(*snapshot, count, /*change=*/true, std::nullopt)) {
        return **std::move(answer);
      }
      made = true;
    }
  }
  return Error{Code::kUnavailable, made ? Effect::kUnknown : Effect::kNone,
               "Redis loses its data again and again"};
}

// An incarnation that is another one or gone: all is lost, and the secret with it. Calls overlap,
// so one of them counts the loss.
Status RedisWindow::NoteLoss(const ServerSnapshot& snapshot, std::string_view answer) {
  PackedReader reader(answer.substr(1));
  const uint64_t count = reader.Number(8);
  {
    MutexLock lock(mutex_);
    if (snapshot_.losses != snapshot.losses) {
      return {};
    }
    if (reader.good() && reader.rest() == snapshot.scope->incarnation) {
      CountLoss(count);
      return {};
    }
    if (!std::exchange(gone_, true)) {
      reports_.Proven();
    }
  }
  // What it asked for holds there again. Where others were first with longer times, these hold.
  auto found = FindScope(Opening(), /*again=*/true);
  if (!found) {
    // The next call must not take the store for whole.
    MutexLock lock(mutex_);
    if (snapshot_.losses == snapshot.losses) {
      snapshot_.losses++;
    }
    // A scope that is expected and not there is waited for: no request of this process is wrong.
    const Code code = found.error().code;
    const bool waits = code == Code::kInvalid || code == Code::kNotFound;
    return Error{waits ? Code::kUnavailable : code, Effect::kNone, found.error().message};
  }
  MutexLock lock(mutex_);
  if (snapshot_.losses == snapshot.losses) {
    snapshot_.scope = std::move(found->scope);
    snapshot_.horizon = 0;
    snapshot_.losses++;
    gone_ = false;
    counts_.Restart(0);
  }
  return {};
}

void RedisWindow::CountLoss(uint64_t count) {
  if (count == 0 && BootNow() - answered_ >= kCountKept) {
    reports_.Forgotten();
  } else {
    reports_.Proven();
  }
  snapshot_.losses++;
  snapshot_.horizon = 0;
  counts_.Restart(count);
}

// A script refuses a store that has less than the call knew of. A call that waited for its
// connection knew of less than others were answered meanwhile: its own count tells then.
bool RedisWindow::NoteCount(const ServerSnapshot& snapshot, uint64_t count, bool change,
                            std::optional<uint64_t> horizon) {
  MutexLock lock(mutex_);
  if (snapshot_.losses != snapshot.losses) {
    return false;
  }
  answered_ = BootNow();
  gone_ = false;
  if (!counts_.Take(count, change)) {
    CountLoss(count);
    return false;
  }
  snapshot_.horizon = horizon.value_or(snapshot_.horizon);
  return true;
}

Result<std::string_view> RedisWindow::TakeWritten(const ServerSnapshot& snapshot,
                                                  std::string_view answer) {
  PackedReader reader(answer);
  const bool written = reader.Bytes(1) == "W";
  const uint64_t count = reader.Number(8);
  if (!written || !reader.good()) {
    return RedisStrange();
  }
  NoteCount(snapshot, count, reader.rest().find('1') != std::string_view::npos, std::nullopt);
  return reader.rest();
}

Result<std::unique_ptr<Window>> OpenRedisWindow(std::string_view address,
                                                const RedisWindowOptions& options) {
  if (options.partition_owned) {
    auto owned = RedisOwnedWindow::OpenAt(address, options, kRedisClock, SystemClock::Instance());
    if (!owned) {
      return owned.error();
    }
    return std::unique_ptr<Window>(*std::move(owned));
  }
  auto window = RedisWindow::OpenAt(address, options, kRedisClock);
  if (!window) {
    return window.error();
  }
  return std::unique_ptr<Window>(*std::move(window));
}

}  // namespace oncemq
