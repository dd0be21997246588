// SPDX-License-Identifier: Apache-2.0
#include "effect_log.h"

#include <charconv>
#include <unordered_map>

namespace oncemq::testing {
namespace {

constexpr size_t kFindings = 20;

int64_t Number(std::string_view text) {
  int64_t number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

void EffectLog::Append(const Message& message, const Context& context) {
  Effect effect{std::string(context.id()), std::string(message.key().value_or("")),
                Number(message.value().value_or("")), message.partition(), message.offset()};
  MutexLock lock(mutex_);
  effects_.push_back(std::move(effect));
}

size_t EffectLog::size() const {
  MutexLock lock(mutex_);
  return effects_.size();
}

std::vector<Effect> EffectLog::All() const {
  MutexLock lock(mutex_);
  return effects_;
}

std::vector<std::string> EffectLog::Judge(const std::set<std::string>& expected) const {
  std::vector<std::string> findings;
  std::unordered_map<std::string, int> times;
  std::unordered_map<std::string, int64_t> last;
  for (const Effect& effect : All()) {
    if (++times[effect.id] == 2 && findings.size() < kFindings) {
      findings.push_back("twice: " + effect.id + " at " + std::to_string(effect.partition) + "/" +
                         std::to_string(effect.offset));
    }
    const auto [place, is_new] = last.try_emplace(effect.key, effect.number);
    if (!is_new && effect.number <= place->second && findings.size() < kFindings) {
      findings.push_back("out of order: key " + effect.key + " had " +
                         std::to_string(place->second) + ", then " + std::to_string(effect.number));
    }
    place->second = std::max(place->second, effect.number);
  }
  for (const std::string& id : expected) {
    if (!times.contains(id) && findings.size() < kFindings) {
      findings.push_back("missing: " + id);
    }
  }
  if (times.size() > expected.size()) {
    findings.push_back(std::to_string(times.size() - expected.size()) + " ids that nobody sent");
  }
  return findings;
}

}  // namespace oncemq::testing
