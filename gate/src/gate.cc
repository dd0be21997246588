// SPDX-License-Identifier: Apache-2.0
// Gate: its opening, and the calls of operators.
#include "oncemq/gate/gate.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "gate_core.h"
#include "oncemq/base/log.h"
#include "stored_answer.h"

namespace oncemq {
namespace {

Error WrongGate(std::string why) {
  return {Code::kInvalid, Effect::kNone, std::move(why)};
}

bool IsApplication(std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789._-";
  return !name.empty() && name.size() <= 64 &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

// As GateCore names operations.
Status CheckRef(std::string_view ref) {
  constexpr size_t kDigits = 2 * std::tuple_size_v<ContentsDigest>;
  const size_t slash = ref.find('/');
  const bool fits = slash != ref.npos && IsApplication(ref.substr(0, slash)) &&
                    ref.size() - slash - 1 == kDigits &&
                    ref.find_first_not_of("0123456789abcdef", slash + 1) == ref.npos;
  return fits ? Status()
              : WrongGate("\"" + std::string(ref) +
                          "\" names no operation of a gate: that is application/64 hex digits, as "
                          "its answers say");
}

Status CheckWindow(const Window* window) {
  if (window == nullptr) {
    return WrongGate("a gate needs a window");
  }
  const WindowCapabilities& can = window->capabilities();
  const std::string name = "the window `" + std::string(can.engine) + "` ";
  if (can.by_partition) {
    return WrongGate(name + "has a store for each partition, and an operation has no partition: " +
                     "open one store (OpenLocalWindow)");
  }
  if (can.level == Level::kAtomic) {
    return WrongGate(name +
                     "is of level atomic, where claims are not stored; open it as guarded "
                     "or opaque");
  }
  if (!can.timed || !can.keeps_results || !can.fingerprints) {
    return WrongGate(name +
                     "does not keep an operation's own lease, retention, result and "
                     "fingerprint");
  }
  return {};
}

Status CheckTimes(const GateOptions& options, const Window& window, WallTime now) {
  const WindowCapabilities& can = window.capabilities();
  const bool has_next = options.fault == GateOptions::Fault::kNextEngine;
  const milliseconds longest =
      can.longest_call + (has_next ? options.next->capabilities().longest_call : milliseconds(0));
  if (options.lease <= milliseconds(0) || options.within <= milliseconds(0) ||
      options.keep_result < milliseconds(0)) {
    return WrongGate("a gate needs lease > 0, within > 0 and keep_result >= 0");
  }
  const auto too_long = [](milliseconds keep) { return keep > kLongestKeep && keep != kForEver; };
  if (options.lease > kLongestClaim || options.within > kLongestClaim ||
      too_long(options.keep_result) || too_long(options.retention.Keep(now))) {
    return WrongGate(
        "`lease` and `within` last at most a year, and an operation or its result is known for at "
        "most a "
        "century, or for ever");
  }
  if (longest > options.within) {
    return WrongGate("a call of the window may last " + std::to_string(longest.count()) +
                     " ms, and the whole call of the gate has " +
                     std::to_string(options.within.count()) +
                     " ms: open the window with shorter times for connect and call, or raise "
                     "`within`");
  }
  if (can.forgets_by_number && options.retention.Keep(now) == kForEver) {
    return WrongGate("the window `" + std::string(can.engine) +
                     "` forgets the oldest ids, so nothing is kept for ever there");
  }
  return {};
}

// The second window must not take back a promise of the first in silence.
Status CheckNext(const GateOptions& options, const Window& window) {
  if (options.fault != GateOptions::Fault::kNextEngine) {
    return options.next == nullptr ? Status()
                                   : WrongGate("`next` needs the fault policy kNextEngine");
  }
  if (Status fit = CheckWindow(options.next.get()); !fit) {
    return fit;
  }
  const WindowCapabilities& first = window.capabilities();
  const WindowCapabilities& second = options.next->capabilities();
  if ((first.shared && !second.shared) || (first.durable && !second.durable) ||
      first.level != second.level) {
    return WrongGate("the second window `" + std::string(second.engine) +
                     "` must be shared and durable where the first is, and of its level: a window "
                     "of each process would let every process run the operation");
  }
  return {};
}

// A text of JSON.
std::string InQuotes(std::string_view text) {
  std::string out = "\"";
  for (const char byte : text) {
    if (static_cast<unsigned char>(byte) < 0x20 || byte == '"' || byte == '\\') {
      std::array<char, 8> escaped{};
      std::snprintf(escaped.data(), escaped.size(), "\\u%04x",
                    static_cast<unsigned>(static_cast<unsigned char>(byte)));
      out += escaped.data();
    } else {
      out.push_back(byte);
    }
  }
  return out + "\"";
}

Status AppendLine(const std::string& path, const std::string& line) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const bool written =
      file >= 0 && ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (file >= 0) {
    ::close(file);
  }
  return written ? Status()
                 : Error{Code::kUnavailable, Effect::kNone,
                         "the audit file " + path + " cannot be written"};
}

std::string_view WordOf(Gate::Outcome outcome) {
  return outcome == Gate::Outcome::kApplied ? "applied" : "not_applied";
}

}  // namespace

std::string_view ToString(PreState state) {
  switch (state) {
    case PreState::kPermitted:
      return "permitted";
    case PreState::kDuplicate:
      return "finished";
    case PreState::kInProgress:
      return "in_progress";
    case PreState::kConflict:
      return "conflict";
    case PreState::kUncertain:
      return "uncertain";
    case PreState::kError:
      return "error";
  }
  return "?";
}

milliseconds Retention::Keep(WallTime now) const {
  constexpr milliseconds kShortest{1};
  switch (kind_) {
    case Kind::kFor:
      return std::max(time_, kShortest);
    case Kind::kUntil:
      if (moment_.micros / 1'000 - now.micros / 1'000 > kLongestKeep.count()) {
        return kForEver;
      }
      return std::max(milliseconds((moment_.micros - now.micros) / 1'000), kShortest);
    case Kind::kNone:
      break;
  }
  return kShortest;
}

Gate::Gate(std::shared_ptr<GateCore> core) : core_(std::move(core)) {}
Gate::~Gate() = default;

Result<std::unique_ptr<Gate>> Gate::Open(std::shared_ptr<Window> window, const GateOptions& options,
                                         const Clock& clock) {
  if (!IsApplication(options.application)) {
    return WrongGate("`application` is 1 to 64 characters of a-z, 0-9, `.`, `_` and `-`");
  }
  if (options.recipe == 0) {
    return WrongGate("recipes are numbered from 1 to 255");
  }
  Status fit = CheckWindow(window.get());
  fit = fit ? CheckNext(options, *window) : fit;
  fit = fit ? CheckTimes(options, *window, clock.Wall()) : fit;
  if (!fit) {
    return fit.error();
  }
  return std::unique_ptr<Gate>(
      new Gate(std::make_shared<GateCore>(std::move(window), options, clock)));
}

PreAnswer Gate::Pre(const Contents& contents, const PreOptions& options) {
  return core_->Pre(contents, options);
}

Result<MarkerView> Gate::Show(std::string_view ref) {
  return core_->Show(ref);
}

Status Gate::Resolve(std::string_view ref, Outcome outcome, std::string_view why) {
  return core_->Resolve(ref, outcome, why);
}

GateCounts Gate::counts() const {
  return core_->counts();
}

const GateOptions& Gate::options() const {
  return core_->options();
}

Result<MarkerView> GateCore::Show(std::string_view ref) {
  if (Status fit = CheckRef(ref); !fit) {
    return fit.error();
  }
  MarkerView view;
  const Status seen = CallWindow(*window_, Until(), [&] {
    return window_->Peek({&ref, 1}, {&view, 1});
  });
  return seen ? Result<MarkerView>(std::move(view)) : seen.error();
}

Status GateCore::Audit(std::string_view ref, Gate::Outcome outcome, std::string_view why,
                       std::string_view result) const {
  Log(LogLevel::kInfo, "gate", "resolve",
      {{"ref", ref}, {"outcome", WordOf(outcome)}, {"why", why}, {"result", result}});
  if (options_.audit_file.empty()) {
    return {};
  }
  std::string line = "{\"at_micros\":" + std::to_string(clock_.Wall().micros);
  for (const auto& [name, value] : {std::pair<std::string_view, std::string_view>{"ref", ref},
                                    {"outcome", WordOf(outcome)},
                                    {"why", why},
                                    {"result", result}}) {
    line += "," + InQuotes(name) + ":" + InQuotes(value);
  }
  return AppendLine(options_.audit_file, line + "}\n");
}

// It is claimed first: so nobody runs it meanwhile, and the token decides.
Status GateCore::Resolve(std::string_view ref, Gate::Outcome outcome, std::string_view why) {
  if (why.empty()) {
    return WrongGate("an operator's word needs a reason");
  }
  if (Status fit = CheckRef(ref); !fit) {
    return fit;
  }
  // Without a trace nothing is changed.
  if (Status begun = Audit(ref, outcome, why, "begins"); !begun) {
    return begun;
  }
  Operation operation;
  operation.core = shared_from_this();
  operation.window = window_.get();
  operation.ref = ref;
  operation.token = NewToken();
  const Status resolved = ResolveClaimed(operation, outcome);
  static_cast<void>(Audit(ref, outcome, why, resolved ? "resolved" : ToString(resolved.error())));
  return resolved;
}

Status GateCore::ResolveClaimed(Operation& operation, Gate::Outcome outcome) {
  // Fingerprint 0: it has the contents that are on record.
  const Version any;
  const BootTime begun = BootNow();
  Claimed claimed;
  if (Status asked = Claim(operation, {&any, 1}, /*takes_uncertain=*/true, Until(), claimed);
      !asked) {
    Abandon(operation);  // it may be on record
    return asked;
  }
  const ClaimAnswer& answer = claimed.answer;
  if (answer.answer == ClaimVerdict::kInFlight) {
    return Error{Code::kUnavailable, Effect::kNone,
                 operation.ref + ": a caller holds it for at most another " +
                     std::to_string(answer.wait.count() / 1'000) + " ms"};
  }
  if (answer.answer != ClaimVerdict::kGranted) {
    return Error{Code::kInvalid, Effect::kNone, operation.ref + ": it is finished"};
  }
  if (!answer.uncertain && answer.attempt == 1) {
    static_cast<void>(ReleaseOrAbandon(operation, Until()));
    return Error{Code::kNotFound, Effect::kNone, operation.ref + ": no such operation is open"};
  }
  const bool applied = outcome == Gate::Outcome::kApplied;
  const std::string stored = EncodeAnswer(
      {.kind = applied ? StoredAnswer::Kind::kApplied : StoredAnswer::Kind::kNotApplied});
  const CompleteRequest request{
      .id = operation.ref,
      .token = operation.token,
      .result = stored,
      .keep = applied ? options_.retention.Keep(clock_.Wall()) : milliseconds(1)};
  MarkerChange change{};
  const Status done = CallWindow(*window_, Until(), [&] {
    return window_->Complete({&request, 1}, {&change, 1});
  });
  if (!done) {
    Abandon(operation);
    return done;
  }
  // Within its lease nobody else ends the claim: an earlier try did, its answer was lost, and it is
  // forgotten by now.
  const bool was_ours = !applied && BootNow() - begun < options_.lease;
  return change == MarkerChange::kMade || was_ours
             ? Status()
             : Error{Code::kFenced, Effect::kNone, operation.ref + ": a caller was faster"};
}

}  // namespace oncemq
