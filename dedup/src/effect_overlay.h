// SPDX-License-Identifier: Apache-2.0
// EffectOverlay: the writes of a batch's handlers so far, above the rows of a store. Pure memory:
// the store is asked through `base`, and takes the changes when the batch is completed.
//
// Sums are kept as differences: what the row was when the handler looked does not matter, only what
// it is when the batch is written.
//
// Thread safety: none; belongs to its batch.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "oncemq/dedup/effects.h"

namespace oncemq {

class EffectOverlay final : public EffectBatch, public Effects {
 public:
  using Read = std::function<Result<std::optional<std::string>>(std::string_view key)>;
  explicit EffectOverlay(Read base, const Window* window = nullptr)
      : EffectBatch(window), base_(std::move(base)) {}

  // The batch as `window` made it. kInvalid: another window did, so its class is not known.
  static Result<EffectOverlay*> Of(EffectBatch& batch, const Window* window);

  Result<std::optional<std::string>> Get(std::string_view key) override;
  Result<std::optional<std::string>> Watch(std::string_view key) override;
  Status Put(std::string_view key, std::string_view value) override;
  Status Delete(std::string_view key) override;
  Status Add(std::string_view key, int64_t delta) override;

  Effects* rows() override { return this; }
  void Begin() override;
  Status Keep() override;
  void Undo() override;

  // Whether every watched row is in the store, which `read` asks, as it was. To be asked in the
  // same step in which the rows are written.
  Result<bool> Holds(const Read& read) const;

  // One row as it is to be: nothing to delete it.
  struct Row {
    std::string_view key;
    std::optional<std::string> value;
  };
  // All rows, with the sums computed on what `read` says now. kInvalid: a sum leaves int64_t, or
  // the row is no sum.
  Result<std::vector<Row>> Rows(const Read& read) const;

 private:
  // What is written over a row, and then added to it.
  struct Change {
    bool over = false;  // `value` replaces the row; otherwise the row stays what it is
    std::optional<std::string> value;
    std::optional<int64_t> sum;  // added to that
    uint64_t message = 0;        // that changed it last
    size_t bytes() const { return value ? value->size() : 0; }
  };

  // A row that the batch rests on, as it was in the store.
  struct Watched {
    std::optional<std::string> row;
    uint64_t message = 0;  // that was the first to look
  };

  Status Check(std::string_view key, size_t value_bytes) const;
  Change& Touch(std::string_view key);
  static Result<std::optional<std::string>> Apply(const Change& change,
                                                  std::optional<std::string> row);

  const Read base_;
  std::unordered_map<std::string, Change> changes_;
  std::unordered_map<std::string, Watched> watched_;
  uint64_t message_ = 1;  // the present one
  // What its rows were before it, each once.
  std::vector<std::pair<std::string, std::optional<Change>>> undo_;
  size_t bytes_ = 0;
};

}  // namespace oncemq
