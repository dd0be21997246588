// SPDX-License-Identifier: Apache-2.0
// LoadedIds: the ids of one batch as a store on a server has them, judged by MarkerEngine. The same
// rules judge in memory, on disk and here; only the storage differs. An engine derives from it,
// fills in the rows and writes back the changed ones.
//
//   ids.Add(id);                      // each, then
//   ids.Seal();
//   ids.SetTime(now, horizon);        // of the server
//   ...                               // the engine fills in the rows
//   ids.engine().One(request, ids.At(i), answer);
//
// Thread safety: none; belongs to one call.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "id_digest.h"
#include "marker_engine.h"
#include "oncemq/base/hash.h"

namespace oncemq {

// A finished id in a store.
struct DoneId {
  Coordinates at;
  Token completer;
  uint32_t fingerprint = 0;
  std::string result;
  LogTime filed;
  BootTime ends = BootTime::max();  // of an id without a partition: it is known until then
};

class LoadedIds {
 public:
  // `remember`: how long a finished id without a partition is kept that does not say so itself.
  // `partition_owned`: an id is known within its topic and partition.
  LoadedIds(Level level, const WindowTimes& times, const KeyedHash::Secret& secret,
            milliseconds remember, bool partition_owned = false);
  LoadedIds(const LoadedIds&) = delete;
  LoadedIds& operator=(const LoadedIds&) = delete;

  // 16 bytes: 2^-128 a pair, under a secret of the scope (rule 35).
  static std::string DigestOf(std::string_view id, IdDigester& digester);
  // Of an id of this partition alone.
  static std::string DigestOf(std::string_view id, const Coordinates& at, IdDigester& digester);

  // Before any row is filled in. Ids that are equal share a row; where partitions own theirs, those
  // of one partition.
  void Add(std::string_view id, const Coordinates& at = {});
  void Seal();
  // In ascending order, one for each row.
  const std::vector<std::string_view>& digests() const { return digests_; }
  // Of the id that was added as number `index`.
  Found At(size_t index) const;
  size_t RowOf(size_t index) const { return row_of_[index]; }
  void SetTime(BootTime now, LogTime horizon);

  MarkerEngine<LoadedIds>& engine() { return engine_; }

  // For MarkerEngine.
  std::optional<DoneId> Find(const Found& at) const { return rows_[RowOf(at.index)].done; }
  bool CompletedBy(const DoneId& done, const Token& token) const { return done.completer == token; }
  void Append(const Found& at, const Finishing& finishing);
  void Seen(const Found& at, const DoneId& done, LogTime time);
  LogTime horizon() const { return horizon_; }
  void Keep(const Found&, const Marker&) {}
  void Forget(const Found&, const Marker&) {}
  // Where claims are not stored: an id without a row is the request's.
  void Hold(size_t index, const Token& token, const Coordinates& at, OwnerEpoch owner_epoch);
  // Under which time an id is filed whose record has this one.
  void File(size_t index, LogTime time);

 protected:
  struct Row {
    bool there = false;         // the store has it
    std::optional<Marker> was;  // as the store has it
    std::optional<DoneId> done;
    bool done_changed = false;
    LogTime filed = kNoLogTime;
  };
  std::vector<Row>& rows() { return rows_; }
  BootTime now() const { return now_; }
  // Of an id that is finished now.
  BootTime EndOf(const Coordinates& at, milliseconds keep) const;
  // nullptr: the id is finished or new.
  const Marker* MarkerOf(size_t row) const;
  void LoadMarker(size_t row, const Marker& marker);
  // A stamp of the future counts as of now; an unknown one, too.
  LogTime Filed(LogTime time) const;
  static bool Same(const Marker& a, const Marker& b);

 private:
  Found FoundOf(size_t row) const;

  IdDigester digester_;
  const milliseconds remember_;
  const bool partition_owned_;
  std::vector<std::string> added_;  // digests, in the order of the batch
  std::vector<std::string_view> digests_;
  std::vector<size_t> row_of_;
  std::vector<Row> rows_;  // as digests_
  BootTime now_;
  LogTime wall_;
  LogTime horizon_ = LogTime::min();
  MarkerEngine<LoadedIds> engine_;
};

}  // namespace oncemq
