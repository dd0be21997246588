// SPDX-License-Identifier: Apache-2.0
#include "effect_overlay.h"

#include "window_check.h"

namespace oncemq {
namespace {

constexpr size_t kSumSize = 8;

std::string SumBytes(int64_t sum) {
  std::string bytes;
  for (size_t i = 0; i < kSumSize; i++) {
    bytes.push_back(static_cast<char>(static_cast<uint64_t>(sum) >> (8 * i)));
  }
  return bytes;
}

}  // namespace

std::optional<int64_t> SumOf(std::string_view value) {
  if (value.size() != kSumSize) {
    return std::nullopt;
  }
  uint64_t sum = 0;
  for (size_t i = 0; i < kSumSize; i++) {
    sum |= uint64_t{static_cast<unsigned char>(value[i])} << (8 * i);
  }
  return static_cast<int64_t>(sum);
}

Result<EffectOverlay*> EffectOverlay::Of(EffectBatch& batch, const Window* window) {
  if (window == nullptr || batch.window() != window) {
    return InvalidRequest("the effects belong to another window");
  }
  return static_cast<EffectOverlay*>(&batch);
}

Result<std::optional<std::string>> EffectOverlay::Apply(const Change& change,
                                                        std::optional<std::string> row) {
  if (change.over) {
    row = change.value;
  }
  if (!change.sum) {
    return row;
  }
  const auto before = row ? SumOf(*row) : std::optional<int64_t>(0);
  int64_t sum = 0;
  if (!before) {
    return InvalidRequest("it is no sum");
  }
  if (__builtin_add_overflow(*before, *change.sum, &sum)) {
    return InvalidRequest("the sum is too large");
  }
  return std::optional(SumBytes(sum));
}

Result<std::optional<std::string>> EffectOverlay::Get(std::string_view key) {
  const auto found = changes_.find(std::string(key));
  if (found == changes_.end()) {
    return base_(key);
  }
  if (found->second.over) {
    return Apply(found->second, std::nullopt);
  }
  auto row = base_(key);
  return row ? Apply(found->second, *std::move(row)) : row;
}

Result<std::optional<std::string>> EffectOverlay::Watch(std::string_view key) {
  std::string name(key);
  if (watched_.count(name) == 0) {
    auto row = base_(key);
    if (!row) {
      return row;
    }
    const size_t size = *row ? (*row)->size() : 0;
    if (Status fit = Check(key, size); !fit) {
      return fit.error();
    }
    bytes_ += key.size() + size;
    watched_.emplace(std::move(name), Watched{*std::move(row), message_});
  }
  return Get(key);
}

Result<bool> EffectOverlay::Holds(const Read& read) const {
  for (const auto& [key, watched] : watched_) {
    const auto present = read(key);
    if (!present) {
      return present.error();
    }
    if (*present != watched.row) {
      return false;
    }
  }
  return true;
}

Status EffectOverlay::Check(std::string_view key, size_t value_bytes) const {
  if (key.empty() || key.size() > kMaxEffectKeyBytes) {
    return InvalidRequest("a row's key has 1 to " + std::to_string(kMaxEffectKeyBytes) +
                          " bytes, not " + std::to_string(key.size()));
  }
  if (bytes_ + key.size() + value_bytes > kMaxEffectBytes) {
    return Error{
        Code::kFull, Effect::kNone,
        "the effects of one batch have at most " + std::to_string(kMaxEffectBytes) + " bytes"};
  }
  return {};
}

// The change of that row, remembered as it was before the present message.
EffectOverlay::Change& EffectOverlay::Touch(std::string_view key) {
  const auto [at, fresh] = changes_.try_emplace(std::string(key));
  if (fresh || at->second.message != message_) {
    undo_.emplace_back(at->first, fresh ? std::nullopt : std::optional(at->second));
  }
  at->second.message = message_;
  bytes_ += fresh ? key.size() : 0;
  return at->second;
}

Status EffectOverlay::Put(std::string_view key, std::string_view value) {
  if (Status fit = Check(key, value.size()); !fit) {
    return fit;
  }
  Change& change = Touch(key);
  bytes_ += value.size() - change.bytes();
  change = {.over = true, .value = std::string(value), .sum = std::nullopt, .message = message_};
  return {};
}

Status EffectOverlay::Delete(std::string_view key) {
  if (Status fit = Check(key, 0); !fit) {
    return fit;
  }
  Change& change = Touch(key);
  bytes_ -= change.bytes();
  change = {.over = true, .value = std::nullopt, .sum = std::nullopt, .message = message_};
  return {};
}

Status EffectOverlay::Add(std::string_view key, int64_t delta) {
  if (Status fit = Check(key, 0); !fit) {
    return fit;
  }
  const auto found = changes_.find(std::string(key));
  int64_t sum = delta;
  if (found != changes_.end() && found->second.sum &&
      __builtin_add_overflow(*found->second.sum, delta, &sum)) {
    return InvalidRequest("the sum is too large");
  }
  // Told now, while the handler can still do something about it.
  Change next = found != changes_.end() ? found->second : Change{};
  next.sum = sum;
  auto row = next.over ? Result<std::optional<std::string>>(std::nullopt) : base_(key);
  if (!row) {
    return row.error();
  }
  if (const auto applied = Apply(next, *std::move(row)); !applied) {
    return applied.error();
  }
  Touch(key).sum = sum;
  return {};
}

void EffectOverlay::Begin() {
  undo_.clear();
  message_++;
}

Status EffectOverlay::Keep() {
  Begin();
  return {};
}

void EffectOverlay::Undo() {
  for (; !undo_.empty(); undo_.pop_back()) {
    auto& [key, before] = undo_.back();
    const auto found = changes_.find(key);
    bytes_ -= found->second.bytes();
    if (before) {
      bytes_ += before->bytes();
      found->second = *std::move(before);
    } else {
      bytes_ -= key.size();
      changes_.erase(found);
    }
  }
  // What a message saw is of no matter once nothing of it stays.
  for (auto at = watched_.begin(); at != watched_.end();) {
    if (at->second.message != message_) {
      ++at;
      continue;
    }
    bytes_ -= at->first.size() + (at->second.row ? at->second.row->size() : 0);
    at = watched_.erase(at);
  }
  Begin();
}

Result<std::vector<EffectOverlay::Row>> EffectOverlay::Rows(const Read& read) const {
  std::vector<Row> rows;
  rows.reserve(changes_.size());
  for (const auto& [key, change] : changes_) {
    std::optional<std::string> row;
    if (!change.over) {
      auto present = read(key);
      if (!present) {
        return present.error();
      }
      row = *std::move(present);
    }
    auto applied = Apply(change, std::move(row));
    if (!applied) {
      return InvalidRequest("the row `" + key.substr(0, 64) + "`: " + applied.error().message);
    }
    rows.push_back({key, *std::move(applied)});
  }
  return rows;
}

}  // namespace oncemq
