// SPDX-License-Identifier: Apache-2.0
#include "script.h"

#include <array>
#include <map>
#include <span>
#include <sstream>
#include <type_traits>
#include <utility>

#include "model.h"

namespace oncemq::conformance {
namespace {

using namespace std::string_view_literals;

constexpr std::array kIds = {"a"sv, "a\0"sv, "b"sv};
constexpr std::array<Token, 4> kTokens = {{{1, 1}, {1, 2}, {2, 1}, {2, 2}}};
constexpr std::array<Coordinates, 4> kCoordinates = {{{0, 0, 1}, {0, 0, 2}, {0, 1, 1}, {1, 0, 1}}};
constexpr size_t kOfOnePartition = 2;
constexpr std::array kResults = {""sv, "r"sv, "s\0"sv};

template <class Table>
const auto& Pick(const Table& table, uint8_t number) {
  return table[number % table.size()];
}

std::string Text(const ClaimAnswer& answer, bool exact_clock) {
  std::ostringstream out;
  out << ToString(answer.answer) << " same_delivery=" << answer.same_delivery
      << " uncertain=" << answer.uncertain << " attempt=" << answer.attempt
      << " entry=" << answer.entry << " attached=" << ToString(answer.attached)
      << " result=" << testing::PrintToString(answer.result);
  if (exact_clock) {
    out << " wait=" << answer.wait.count();
  }
  return out.str();
}

std::string Text(MarkerChange change, bool) {
  return change == MarkerChange::kMade ? "made" : "fenced";
}

std::string Text(const MarkerView& view, bool) {
  std::ostringstream out;
  out << ToString(view.state) << " uncertain=" << view.uncertain << " at=" << view.at.source << "/"
      << view.at.partition << "/" << view.at.offset << " token=" << view.token.process << "/"
      << view.token.attempt;
  return out.str();
}

// Plays to window and model side by side.
class Player {
 public:
  Player(const Subject& subject, const WindowTimes& times, Window& window)
      : subject_(subject), times_(times), window_(window), model_(subject.level, times) {}

  // The steps are of one kind. Returns what differed first.
  std::string PlayBatch(std::span<const Step> steps) {
    switch (steps[0].kind % Step::kKinds) {
      case Step::kClaim:
        return Compare(steps, &Player::ClaimOf, &Window::Claim, &WindowModel::Claim);
      case Step::kComplete:
        return Compare(steps, &Player::CompleteOf, &Window::Complete, &WindowModel::Complete);
      case Step::kRelease:
      case Step::kReleaseAsUncertain:
        return Compare(steps, &Player::ReleaseOf, &Window::Release, &WindowModel::Release);
      case Step::kPark:
        return Compare(steps, &Player::ParkOf, &Window::Park, &WindowModel::Park);
      case Step::kRenew:
        return Compare(steps, &Player::RenewOf, &Window::Renew, &WindowModel::Renew);
      case Step::kRestore:
        return Compare(steps, &Player::RestoreOf, &Window::Restore, &WindowModel::Restore);
      case Step::kPeek:
        return Compare(steps, &Player::PeekOf, &Window::Peek, &WindowModel::Peek);
      case Step::kRaise:
        return RaiseAll(steps);
      default:
        AdvanceAll(steps);
        return {};
    }
  }

 private:
  template <class Request, class Reply, class Judge>
  std::string Compare(std::span<const Step> steps, Request (Player::*make)(const Step&) const,
                      Status (Window::*call)(std::span<const Request>, std::span<Reply>),
                      Judge judge) {
    std::vector<Request> requests;
    for (const Step& step : steps) {
      requests.push_back((this->*make)(step));
    }
    std::vector<Reply> replies(requests.size());
    if (const Status status = (window_.*call)(requests, replies); !status) {
      return "an error: " + ToString(status.error());
    }
    for (size_t i = 0; i < requests.size(); i++) {
      Reply expected = (model_.*judge)(requests[i]);
      if constexpr (std::is_same_v<Reply, ClaimAnswer>) {
        expected.result = subject_.can().keeps_results ? expected.result : "";
      }
      const bool exact = subject_.engine->exact_clock;
      const std::string want = Text(expected, exact);
      if (const std::string got = Text(replies[i], exact); got != want) {
        return testing::PrintToString(steps[i]) + "\n  window: " + got + "\n  model:  " + want;
      }
    }
    return {};
  }

  std::string RaiseAll(std::span<const Step> steps) {
    for (const Step& step : steps) {
      const Coordinates& at = CoordinatesOf(step);
      const OwnerEpoch before = model_.OwnerEpochOf(at.source, at.partition);
      const Result<OwnerEpoch> owner_epoch = window_.RaiseOwnerEpoch(at.source, at.partition, 0);
      if (!owner_epoch || *owner_epoch <= before) {
        return testing::PrintToString(step) + ": the ownership did not rise";
      }
      earlier_[{at.source, at.partition}] = before;
      model_.Raised(at.source, at.partition, *owner_epoch);
    }
    return {};
  }

  void AdvanceAll(std::span<const Step> steps) {
    if (!subject_.can().leases_by_clock || !subject_.engine->exact_clock) {
      return;
    }
    const std::array<milliseconds, 5> times = {milliseconds(1), times_.lease / 2, times_.lease,
                                               times_.handler_timeout, times_.max_lease};
    for (const Step& step : steps) {
      subject_.engine->advance(Pick(times, step.number));
      model_.Advance(Pick(times, step.number));
    }
  }

  // Those of one partition come first.
  const Coordinates& CoordinatesOf(const Step& step) const {
    return kCoordinates[step.at % (IfIdsCross(subject_) ? kCoordinates.size() : kOfOnePartition)];
  }

  OwnerEpoch OwnerEpochOf(const Step& step) const {
    const Coordinates& at = CoordinatesOf(step);
    if (step.owner_epoch % 4 == 3) {
      const auto found = earlier_.find({at.source, at.partition});
      return found == earlier_.end() ? 1 : found->second;
    }
    return step.owner_epoch % 4 == 0 ? 0 : model_.OwnerEpochOf(at.source, at.partition);
  }

  uint32_t FingerprintOf(const Step& s) const {
    return subject_.can().fingerprints ? s.fingerprint % 3u : 0;
  }
  ClaimRequest ClaimOf(const Step& s) const {
    return {.id = Pick(kIds, s.id),
            .token = Pick(kTokens, s.token),
            .at = CoordinatesOf(s),
            .owner_epoch = OwnerEpochOf(s),
            .fingerprint = FingerprintOf(s),
            .not_if_uncertain = s.number % 4 == 3,
            .parked_entry = s.number / 4 % 3u};
  }
  CompleteRequest CompleteOf(const Step& s) const {
    return {Pick(kIds, s.id), Pick(kTokens, s.token), CoordinatesOf(s), Pick(kResults, s.number)};
  }
  ReleaseRequest ReleaseOf(const Step& s) const {
    const bool uncertain = s.kind % Step::kKinds == Step::kReleaseAsUncertain;
    return {.id = Pick(kIds, s.id),
            .token = Pick(kTokens, s.token),
            .uncertain = uncertain,
            .at = CoordinatesOf(s),
            .failed = s.number % 2 == 1,
            .parked_entry = s.number / 2 % 3u};
  }
  ParkRequest ParkOf(const Step& s) const {
    return {Pick(kIds, s.id), Pick(kTokens, s.token), s.number % 2u + 1, CoordinatesOf(s)};
  }
  RenewRequest RenewOf(const Step& s) const {
    return {Pick(kIds, s.id), Pick(kTokens, s.token), CoordinatesOf(s)};
  }
  RestoreRequest RestoreOf(const Step& s) const {
    return {.id = Pick(kIds, s.id),
            .at = CoordinatesOf(s),
            .owner_epoch = OwnerEpochOf(s),
            .fingerprint = FingerprintOf(s)};
  }
  std::string_view PeekOf(const Step& s) const { return Pick(kIds, s.id); }

  const Subject& subject_;
  const WindowTimes& times_;
  Window& window_;
  WindowModel model_;
  std::map<std::pair<uint32_t, int32_t>, OwnerEpoch> earlier_;
};

}  // namespace

void PrintTo(const Step& step, std::ostream* out) {
  constexpr std::array kNames = {"claim", "complete", "release", "release as uncertain",
                                 "park",  "renew",    "restore", "peek",
                                 "raise", "advance"};
  *out << kNames[step.kind % Step::kKinds] << " id=" << step.id % kIds.size()
       << " token=" << step.token % kTokens.size() << " at=" << step.at % kCoordinates.size()
       << " own=" << step.owner_epoch % 4 << " fingerprint=" << step.fingerprint % 3
       << " number=" << int{step.number} << (step.joins ? " (joins)" : "");
}

// Claims are a third, else most scripts would only ask about ids that nobody runs.
Script RandomScript(std::mt19937_64& random, size_t steps) {
  Script script(steps);
  for (Step& step : script) {
    const uint64_t bits = random();
    const auto byte = [bits](unsigned i) { return static_cast<uint8_t>(bits >> (8 * i)); };
    step = {static_cast<uint8_t>(byte(0) % 3 == 0 ? uint8_t{Step::kClaim} : byte(0)),
            byte(1),
            byte(2),
            byte(3),
            byte(4),
            byte(5),
            byte(6),
            byte(7) % 3 == 0};
    // Mostly one payload, or nearly every claim would be a conflict.
    step.fingerprint = byte(5) % 8 == 0 ? 2 : byte(5) % 2;
  }
  return script;
}

std::string Play(const Subject& subject, const WindowTimes& times, const Script& script) {
  auto window = subject.engine->open({subject.level, times});
  if (!window) {
    return "no window: " + ToString(window.error());
  }
  OpenPartitions(subject, **window);
  Player player(subject, times, **window);
  for (size_t begin = 0; begin < script.size();) {
    size_t end = begin + 1;
    while (end < script.size() && script[end].joins &&
           script[end].kind % Step::kKinds == script[begin].kind % Step::kKinds) {
      end++;
    }
    const auto batch = std::span(script).subspan(begin, end - begin);
    if (std::string difference = player.PlayBatch(batch); !difference.empty()) {
      return "step " + std::to_string(begin) + ": " + difference;
    }
    begin = end;
  }
  return {};
}

Script Shrink(const Subject& subject, const WindowTimes& times, Script script) {
  for (size_t size = script.size() / 2; size > 0; size /= 2) {
    for (size_t begin = 0; begin + size <= script.size();) {
      Script shorter = script;
      shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(begin),
                    shorter.begin() + static_cast<std::ptrdiff_t>(begin + size));
      if (Play(subject, times, shorter).empty()) {
        begin += size;
      } else {
        script = std::move(shorter);
      }
    }
  }
  return script;
}

}  // namespace oncemq::conformance
