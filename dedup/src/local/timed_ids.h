// SPDX-License-Identifier: Apache-2.0
// TimedIds: the finished ids without a partition of a local store. They age by the clock and each
// for itself, so each is a row of its own, which a later completion replaces.
//
// Memory: the rows of the present batch.
//
// Thread safety: none; the window that owns it locks.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "id_record.h"
#include "oncemq/clients/rocks_store.h"
#include "oncemq/dedup/window.h"

namespace oncemq {

class TimedIds {
 public:
  explicit TimedIds(RocksStore* store) : store_(store) {}

  // Whether the store has such ids: one that has none is never asked for them.
  Status Open();

  void BeginBatch() { rows_.clear(); }
  Status Load(std::string_view id, bool digest);
  // Of the batch, and kept beyond `now`. Views stay valid until the next Append() or BeginBatch().
  std::optional<IdRecord> Find(std::string_view id, bool digest, LogTime now) const;
  void Append(const IdRecord& record, LogTime until, RocksBatch& batch);

  // Before the batch's appends. Now and then one step of a sweep: looks at some rows, more than
  // were appended since the last one, and drops those that are kept no longer. A batch that
  // finishes such an id again puts it back.
  Status Sweep(LogTime now, RocksBatch& batch);

 private:
  RocksStore* store_;
  bool any_ = false;
  std::map<std::string, std::string, std::less<>> rows_;
  int appended_ = 0;  // since the last step
  std::string next_;  // where it goes on
};

}  // namespace oncemq
