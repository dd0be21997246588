// SPDX-License-Identifier: Apache-2.0
#include "gate_core.h"

#include <algorithm>
#include <array>

#include "oncemq/base/bytes.h"
#include "oncemq/base/check.h"
#include "oncemq/base/log.h"
#include "oncemq/base/outage.h"
#include "oncemq/base/random.h"
#include "parts.h"
#include "sha256.h"
#include "stored_answer.h"

namespace oncemq {
namespace {

constexpr milliseconds kFirstPause{2};
constexpr milliseconds kFirstPoll{5};  // while an outcome is waited for
constexpr milliseconds kLongestPoll{100};
constexpr milliseconds kRetryAfter{1'000};  // an effect takes less, as a rule, whatever its lease
constexpr milliseconds kForgetAtOnce{1};
constexpr size_t kMaxAbandoned = 10'000;
constexpr size_t kAbandonedAtOnce = 100;
constexpr size_t kMaxKey = 1'024;
constexpr int kRecipeShift = 24;

uint64_t NumberIn(const ContentsDigest& digest, size_t from, size_t bytes) {
  uint64_t number = 0;
  for (size_t i = from; i < from + bytes; i++) {
    number = number << 8 | digest[i];
  }
  return number;
}

// The id of an operation: a kind, its scope and its name, under the application's name.
std::string IdFor(std::string_view application, char kind, std::span<const std::string_view> scope,
                  std::string_view name) {
  std::string parts(1, kind);
  AppendVarint(parts, scope.size());
  for (const std::string_view part : scope) {
    AppendPart(parts, part);
  }
  AppendPart(parts, name);
  const ContentsDigest digest = Sha256(parts);
  return std::string(application) + "/" +
         HexOfBytes({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

PreAnswer AnswerOf(PreState state, const std::string& ref) {
  PreAnswer answer;
  answer.state = state;
  answer.ref = ref;
  return answer;
}

}  // namespace

GateCore::GateCore(std::shared_ptr<Window> window, const GateOptions& options, const Clock& clock)
    : window_(std::move(window)),
      options_(options),
      clock_(clock),
      opaque_(window_->capabilities().level == Level::kOpaque),
      process_(SecureRandom64()) {}

GateCore::OperationPtr GateCore::NewOperation(const Contents& contents, const PreOptions& options) {
  auto operation = std::make_unique<Operation>();
  operation->core = shared_from_this();
  operation->window = window_.get();
  operation->token = NewToken();
  const bool keyed = !options.key.empty();
  operation->ref = IdFor(options_.application, keyed ? 'k' : 'c', options.scope,
                         keyed ? options.key : contents.canonical());
  if (keyed && options.find_twins && !contents.canonical().empty()) {
    operation->index = IdFor(options_.application, 'i', options.scope, contents.canonical());
  }
  return operation;
}

// Contents that are the key need no comparison.
std::vector<GateCore::Version> GateCore::VersionsOf(const Contents& contents, uint8_t recipe,
                                                    const PreOptions& options) {
  const auto version = [](uint8_t number, const Contents& made) {
    if (made.canonical().empty()) {
      return Version{.recipe = number};
    }
    const ContentsDigest digest = DigestOf(made);
    const auto print = static_cast<uint32_t>(NumberIn(digest, 0, 3));
    return Version{number, uint32_t{number} << kRecipeShift | print,
                   std::max<uint64_t>(NumberIn(digest, 8, 8), 1)};
  };
  if (options.key.empty()) {
    return {Version{.recipe = recipe}};
  }
  std::vector<Version> versions{version(recipe, contents)};
  for (const EarlierContents& earlier : options.earlier) {
    versions.push_back(version(earlier.recipe, earlier.contents));
  }
  return versions;
}

PreAnswer GateCore::Pre(const Contents& contents, const PreOptions& options) {
  const bool named = !options.key.empty() || !contents.canonical().empty();
  const bool recipes = std::all_of(options.earlier.begin(), options.earlier.end(),
                                   [](const EarlierContents& one) { return one.recipe > 0; });
  if (!named || !recipes || options.key.size() > kMaxKey) {
    PreAnswer wrong;
    wrong.error = {Code::kInvalid, Effect::kNone,
                   "an operation needs contents or a key of at most 1,024 bytes, and earlier "
                   "contents need their recipe"};
    Count(wrong);
    return wrong;
  }
  const OperationPtr operation = NewOperation(contents, options);
  const std::vector<Version> versions = VersionsOf(contents, options_.recipe, options);
  const BootTime begun = BootNow();
  ReleaseAbandoned(*window_, begun + options_.within);
  const Window* decider = nullptr;
  PreAnswer answer = Once(*operation, versions, begun + options_.within, decider);
  const BootTime waits = begun + std::clamp(options.wait, milliseconds(0), kLongestClaim);
  for (milliseconds pause = kFirstPoll; answer.state == PreState::kInProgress && BootNow() < waits;
       pause = std::min(2 * pause, kLongestPoll)) {
    SleepFor(
        std::min({pause, answer.retry_after, std::chrono::ceil<milliseconds>(waits - BootNow())}));
    // The claim is the look: nothing can come between them.
    answer = Once(*operation, versions, Until(), decider);
  }
  Count(answer);
  return answer;
}

// Asks each window that may decide.
PreAnswer GateCore::Once(const Operation& operation, std::span<const Version> versions,
                         BootTime until, const Window*& decider) {
  const bool waits = decider != nullptr;
  const bool has_next = options_.fault == GateOptions::Fault::kNextEngine && !waits;
  Operation other = operation;
  if (!waits || decider == window_.get()) {
    const milliseconds for_next =
        has_next ? std::max(options_.next->capabilities().longest_call, options_.within / 4)
                 : milliseconds(0);
    Claimed claimed;
    const Status asked = Claim(operation, versions, TakesUncertain(), until - for_next, claimed);
    if (asked) {
      decider = window_.get();
      return Judge(operation, versions, std::move(claimed), until);
    }
    const bool away =
        IsOutage(asked.error()) && claimed.answer.answer != ClaimVerdict::kConflict && !waits;
    if (away && options_.fault == GateOptions::Fault::kPermitUnprotected) {
      other.unprotected = true;
      other.digest = versions.front().digest;
      totals_.unprotected++;
      return Permit(other);
    }
    if (asked.error().effect == Effect::kUnknown) {
      Abandon(operation);
    }
    if (!away || !has_next) {
      return Failed(operation, asked.error());
    }
    totals_.next_engine++;
  }
  ONCEMQ_CHECK(options_.next != nullptr, "only a policy with a next window asks it");
  decider = other.window = options_.next.get();
  other.token = NewToken();
  ReleaseAbandoned(*other.window, until);
  Claimed claimed;
  const Status asked = Claim(other, versions, TakesUncertain(), until, claimed);
  if (asked) {
    return Judge(other, versions, std::move(claimed), until);
  }
  if (asked.error().effect == Effect::kUnknown) {
    Abandon(other);
  }
  return Failed(other, asked.error());
}

Status GateCore::CallWindow(const Window& window, BootTime until,
                            const std::function<Status()>& call) {
  const milliseconds longest = window.capabilities().longest_call;
  bool unknown = false;
  if (BootNow() >= until) {
    return Error{Code::kTimeout, Effect::kNone,
                 "the time of the gate is over (GateOptions::within)"};
  }
  for (milliseconds pause = kFirstPause;; pause *= 2) {
    Status done = call();
    if (done) {
      return done;
    }
    unknown = unknown || done.error().effect == Effect::kUnknown;
    if (!IsTransient(done.error()) || BootNow() + pause + longest > until) {
      done.error().effect = unknown ? Effect::kUnknown : Effect::kNone;
      return done;
    }
    SleepFor(pause);
  }
}

// Under each version in turn, until the record does not object.
Status GateCore::Claim(const Operation& operation, std::span<const Version> versions,
                       bool takes_uncertain, BootTime until, Claimed& claimed) {
  ONCEMQ_CHECK(!versions.empty(), "each operation has its contents in one version at least");
  for (const Version& version : versions) {
    const std::array<ClaimRequest, 2> requests{
        ClaimRequest{.id = operation.ref,
                     .token = operation.token,
                     .fingerprint = version.fingerprint,
                     .lease = options_.lease,
                     .not_if_uncertain = !takes_uncertain},
        ClaimRequest{.id = operation.index, .token = operation.token, .lease = options_.lease}};
    const size_t count = operation.index.empty() ? 1 : 2;
    std::array<ClaimAnswer, 2> answers;
    const Status asked = CallWindow(*operation.window, until, [&] {
      return operation.window->Claim({requests.data(), count}, {answers.data(), count});
    });
    if (!asked) {
      return asked;
    }
    claimed = {std::move(answers[0]), std::move(answers[1]), version.digest};
    const bool only_index_granted = count == 2 && claimed.answer.answer != ClaimVerdict::kGranted &&
                                    claimed.index.answer == ClaimVerdict::kGranted;
    if (only_index_granted) {
      Operation only = operation;
      only.ref = only.index;
      only.index.clear();
      static_cast<void>(ReleaseOrAbandon(only, until));
    }
    if (claimed.answer.answer != ClaimVerdict::kConflict) {
      break;
    }
  }
  return {};
}

PreAnswer GateCore::Judge(const Operation& operation, std::span<const Version> versions,
                          Claimed claimed, BootTime until) {
  switch (claimed.answer.answer) {
    case ClaimVerdict::kGranted:
      return Granted(operation, claimed);
    case ClaimVerdict::kDuplicate:
      return Duplicate(operation, claimed);
    case ClaimVerdict::kConflict:
      return Conflict(operation, versions, until);
    case ClaimVerdict::kInFlight: {
      if (claimed.answer.uncertain) {
        return AnswerOf(PreState::kUncertain, operation.ref);
      }
      PreAnswer answer = AnswerOf(PreState::kInProgress, operation.ref);
      const auto wait = std::chrono::ceil<milliseconds>(claimed.answer.wait);
      answer.retry_after = std::clamp(wait, milliseconds(1), kRetryAfter);
      return answer;
    }
    case ClaimVerdict::kAttached:
    case ClaimVerdict::kOutsideWindow:
    case ClaimVerdict::kIncomplete:
    case ClaimVerdict::kFenced:
      break;
  }
  return Failed(operation, {Code::kInvalid, Effect::kNone,
                            "the window answers `" + std::string(ToString(claimed.answer.answer)) +
                                "`: it is not for a gate"});
}

PreAnswer GateCore::Permit(const Operation& operation) {
  PreAnswer answer = AnswerOf(PreState::kPermitted, operation.ref);
  answer.ticket = Ticket(std::make_unique<Operation>(operation));
  return answer;
}

PreAnswer GateCore::Granted(const Operation& operation, const Claimed& claimed) {
  Operation held = operation;
  held.digest = claimed.digest;
  held.uncertain = claimed.answer.uncertain;
  if (!held.index.empty() && claimed.index.answer != ClaimVerdict::kGranted) {
    const auto stored = DecodeAnswer(claimed.index.result);
    const std::string twin = stored ? std::string(stored->result) : held.index;
    held.index.clear();
    PreAnswer answer = Permit(held);
    answer.twin = twin == held.ref ? "" : twin;
    return answer;
  }
  return Permit(held);
}

PreAnswer GateCore::Duplicate(const Operation& operation, const Claimed& claimed) {
  const StoredAnswer stored = DecodeAnswer(claimed.answer.result).value_or(StoredAnswer{});
  if (stored.kind == StoredAnswer::Kind::kNotApplied) {
    PreAnswer soon = AnswerOf(PreState::kInProgress, operation.ref);
    soon.retry_after = kForgetAtOnce;
    return soon;
  }
  // The fingerprint of the window is short; this part of the digest is not.
  if (stored.digest != 0 && claimed.digest != 0 && stored.digest != claimed.digest) {
    PreAnswer other = AnswerOf(PreState::kConflict, operation.ref);
    other.safe_new_key = true;
    return other;
  }
  PreAnswer answer = AnswerOf(PreState::kDuplicate, operation.ref);
  answer.has_result = stored.kind == StoredAnswer::Kind::kResult &&
                      (stored.until_micros == 0 || clock_.Wall().micros < stored.until_micros);
  answer.result = answer.has_result ? stored.result : "";
  return answer;
}

PreAnswer GateCore::Conflict(const Operation& operation, std::span<const Version> versions,
                             BootTime until) {
  PreAnswer answer = AnswerOf(PreState::kConflict, operation.ref);
  MarkerView view;
  const std::string_view id = operation.ref;
  const Status seen = CallWindow(*operation.window, until, [&] {
    return operation.window->Peek({&id, 1}, {&view, 1});
  });
  if (seen && view.fingerprint != 0) {
    const uint32_t recipe = view.fingerprint >> kRecipeShift;
    // Under a recipe that is not known here it may be the same operation.
    answer.safe_new_key =
        std::any_of(versions.begin(), versions.end(),
                    [&](const Version& version) { return version.recipe == recipe; });
    answer.policy_changed = !answer.safe_new_key;
  }
  return answer;
}

// The caller of an endpoint is told no reason, so the log has it.
PreAnswer GateCore::Failed(const Operation& operation, const Error& error) {
  LogSeldom(LogLevel::kWarn, "gate", "an operation is not permitted: the window gives no answer",
            {{"application", options_.application}, {"error", ToString(error)}});
  PreAnswer answer = AnswerOf(PreState::kError, operation.ref);
  answer.error = error;
  answer.retry_after = kRetryAfter;
  return answer;
}

void GateCore::Count(const PreAnswer& answer) {
  ONCEMQ_CHECK(static_cast<bool>(answer.ticket) == (answer.state == PreState::kPermitted),
               "a permit has a ticket, and nothing else has");
  totals_.twins += answer.twin.empty() ? 0 : 1;
  switch (answer.state) {
    case PreState::kPermitted:
      totals_.permitted++;
      break;
    case PreState::kDuplicate:
      totals_.duplicates++;
      break;
    case PreState::kInProgress:
      totals_.in_progress++;
      break;
    case PreState::kConflict:
      totals_.conflicts++;
      break;
    case PreState::kUncertain:
      totals_.uncertain++;
      break;
    case PreState::kError:
      totals_.errors++;
      break;
  }
}

Status GateCore::Finish(Operation& held, const std::string_view* result) {
  const BootTime until = Until();
  held.finished = true;
  if (held.unprotected) {
    if (const Status claimed = ClaimAfterwards(held, until); !claimed) {
      totals_.unmarked++;
      return claimed;
    }
    held.unprotected = false;
  }
  StoredAnswer stored{.digest = held.digest};
  if (result != nullptr) {
    stored.kind = StoredAnswer::Kind::kResult;
    stored.result = *result;
  }
  const WallTime now = clock_.Wall();
  if (options_.keep_result != milliseconds(0) && options_.keep_result != kForEver) {
    stored.until_micros = now.micros + microseconds(options_.keep_result).count();
  }
  std::string bytes = EncodeAnswer(stored);
  if (bytes.size() > held.window->capabilities().max_result_bytes) {
    bytes = EncodeAnswer({.digest = held.digest});
  }
  const std::string index = EncodeAnswer({.result = held.ref});
  // A repetition after a lost answer still finds it.
  const milliseconds keep = std::max(options_.retention.Keep(now), 2 * options_.within);
  const std::array<CompleteRequest, 2> requests{
      CompleteRequest{.id = held.ref, .token = held.token, .result = bytes, .keep = keep},
      CompleteRequest{.id = held.index, .token = held.token, .result = index, .keep = keep}};
  const size_t count = held.index.empty() ? 1 : 2;
  std::array<MarkerChange, 2> changes{};
  const Status done = CallWindow(*held.window, until, [&] {
    return held.window->Complete({requests.data(), count}, {changes.data(), count});
  });
  if (done && changes[0] != MarkerChange::kMade) {
    totals_.overtaken++;
    return Error{Code::kFenced, Effect::kNone,
                 held.ref + ": its lease had ended, and somebody else has taken it over"};
  }
  return done;
}

// The window was out of reach at Pre().
Status GateCore::ClaimAfterwards(const Operation& held, BootTime until) {
  const std::array<Version, 1> any;
  Claimed claimed;
  const Status asked = Claim(held, any, /*takes_uncertain=*/false, until, claimed);
  if (!asked) {
    return asked;
  }
  if (claimed.answer.answer == ClaimVerdict::kGranted) {
    return {};
  }
  totals_.overtaken++;
  return Error{Code::kFenced, Effect::kNone,
               held.ref + ": it ran without protection, and also under another ticket"};
}

Status GateCore::Release(const Operation& operation, bool uncertain, BootTime until) {
  const std::array<ReleaseRequest, 2> requests{
      ReleaseRequest{operation.ref, operation.token, uncertain},
      ReleaseRequest{operation.index, operation.token, false}};
  const size_t count = operation.index.empty() ? 1 : 2;
  std::array<MarkerChange, 2> changes{};
  return CallWindow(*operation.window, until, [&] {
    return operation.window->Release({requests.data(), count}, {changes.data(), count});
  });
}

Status GateCore::Free(Operation& held, bool uncertain) {
  if (held.unprotected && !(uncertain && opaque_)) {
    Abandon(held);
    return {};
  }
  if (held.unprotected) {
    if (const Status claimed = ClaimAfterwards(held, Until()); !claimed) {
      totals_.unmarked++;
      return claimed;
    }
  }
  if (!uncertain || !opaque_) {
    return ReleaseOrAbandon(held, Until());
  }
  Log(LogLevel::kWarn, "gate", "nobody knows whether an operation has happened",
      {{"ref", held.ref}});
  return Release(held, true, Until());
}

Status GateCore::Renew(const Operation& held, milliseconds lease) {
  if (held.unprotected) {
    return {};
  }
  const milliseconds its = lease == milliseconds(0) ? options_.lease : lease;
  const std::array<RenewRequest, 2> requests{
      RenewRequest{.id = held.ref, .token = held.token, .lease = its},
      RenewRequest{.id = held.index, .token = held.token, .lease = its}};
  const size_t count = held.index.empty() ? 1 : 2;
  std::array<MarkerChange, 2> changes{};
  const Status done = CallWindow(*held.window, Until(), [&] {
    return held.window->Renew({requests.data(), count}, {changes.data(), count});
  });
  // The index holds nobody back: if it ended a moment earlier, Final() writes it all the same.
  if (done && changes[0] != MarkerChange::kMade) {
    return Error{Code::kFenced, Effect::kNone,
                 held.ref + ": its lease cannot be renewed: it has ended, or somebody else has it"};
  }
  return done;
}

void GateCore::Dropped(Operation& held) {
  totals_.dropped += held.finished ? 0 : 1;
  const bool frees = options_.dropped == GateOptions::Dropped::kFailed && !held.finished;
  // A free operation runs again: never where its effect may be there.
  if (frees) {
    static_cast<void>(Free(held, /*uncertain=*/false));
  }
}

void GateCore::Abandon(const Operation& operation) {
  {
    MutexLock lock(mutex_);
    if (abandoned_.size() < kMaxAbandoned) {
      abandoned_.push_back({operation.window, operation.ref, operation.token});
      if (!operation.index.empty()) {
        abandoned_.push_back({operation.window, operation.index, operation.token});
      }
      any_abandoned_ = true;
      return;
    }
  }
  Log(LogLevel::kWarn, "gate", "too many claims wait for their release; this one ends by its lease",
      {{"ref", operation.ref}, {"waiting", kMaxAbandoned}});
}

Status GateCore::ReleaseOrAbandon(const Operation& operation, BootTime until) {
  Status released = Release(operation, /*uncertain=*/false, until);
  if (!released) {
    Abandon(operation);
  }
  return released;
}

// Before the next claim: it may be of the same operation, whose effect has surely not happened.
void GateCore::ReleaseAbandoned(Window& window, BootTime until) {
  if (!any_abandoned_ || BootNow() >= until) {
    return;
  }
  std::vector<UnusedClaim> some;
  {
    MutexLock lock(mutex_);
    const auto of_it =
        std::partition(abandoned_.begin(), abandoned_.end(),
                       [&](const UnusedClaim& one) { return one.window != &window; });
    const auto count = std::min<std::ptrdiff_t>(kAbandonedAtOnce, abandoned_.end() - of_it);
    some.assign(abandoned_.end() - count, abandoned_.end());
    abandoned_.erase(abandoned_.end() - count, abandoned_.end());
    any_abandoned_ = !abandoned_.empty();
  }
  if (some.empty()) {
    return;
  }
  std::vector<ReleaseRequest> requests;
  for (const UnusedClaim& one : some) {
    requests.push_back({.id = one.id, .token = one.token});
  }
  std::vector<MarkerChange> changes(requests.size());
  if (!window.Release(requests, changes)) {
    MutexLock lock(mutex_);
    abandoned_.insert(abandoned_.end(), some.begin(), some.end());
    any_abandoned_ = true;
  }
}

GateCounts GateCore::counts() const {
  StoreLosses losses = window_->losses();
  if (options_.next != nullptr) {
    const StoreLosses next = options_.next->losses();
    losses = {losses.proven + next.proven, losses.possible + next.possible};
  }
  return {totals_.permitted,   totals_.duplicates, totals_.in_progress, totals_.conflicts,
          totals_.uncertain,   totals_.errors,     totals_.unprotected, totals_.unmarked,
          totals_.next_engine, totals_.dropped,    totals_.overtaken,   totals_.twins,
          losses.proven,       losses.possible};
}

}  // namespace oncemq
