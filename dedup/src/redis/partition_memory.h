// SPDX-License-Identifier: Apache-2.0
// PartitionMemory: a partition that owns its ids, in the memory of a process. Claims and
// completions are judged here. Changes that have to outlive the process are collected until they
// are taken to Redis:
//
//   MutexLock control(partition.control());
//   PartitionMemory::Changes changes = partition.Take();
//   ...                                    // sends them
//   partition.StoredTo(position);             // or GiveBack(changes), if they may not be there
//
// Thread safety: any thread. A caller that also talks to Redis holds control() meanwhile, so that
// taken changes stay where they are.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../marker_engine.h"
#include "oncemq/base/hash.h"
#include "oncemq/base/mutex.h"
#include "owned_ids.h"

namespace oncemq {

class PartitionMemory {
 public:
  struct Terms {
    Level level = Level::kGuarded;
    WindowTimes times;
    // An id is filed under a later time than its own: of the copies that follow soon, none has to
    // be filed again.
    milliseconds allows{0};
    KeyedHash::Secret secret{};
  };
  // Not in Redis yet.
  struct Changes {
    std::vector<const OwnedIds::Entry*> entries;
    std::map<std::string, std::string> kept;  // digest -> marker; empty: it is gone
    size_t parked = 0;                        // ids, by now
  };
  struct Aged {
    StreamPosition position;
    size_t ids = 0;
  };
  struct Numbers {
    size_t known = 0;     // finished ids
    size_t unstored = 0;  // of these
    size_t open = 0;
    size_t memory_bytes = 0;
  };

  // `clock` outlives it.
  PartitionMemory(uint32_t source, int32_t partition, const Terms& terms, const Clock& clock);

  Mutex& control() { return control_; }
  uint32_t source() const { return source_; }
  int32_t partition() const { return partition_; }

  // Each request in order. `wall`: a time of the log is never later. Precondition: they are of this
  // partition, and well-formed.
  template <class Request, class Reply>
  void Apply(std::span<const Request> requests, std::span<Reply> replies, LogTime wall);

  // As Redis has it. False: it is not ours.
  bool Load(std::vector<OwnedIds::Loaded> entries);
  bool LoadKept(std::string_view digest, std::string_view marker);
  void Loaded(const StreamPosition& last, LogTime horizon, LogTime watermark);
  // Of the last commit: a finished id is filed under no earlier time (rule 22). A lower one changes
  // nothing: after a new assignment one old stamp may say less.
  void NoteWatermark(LogTime watermark);
  StreamPosition stored_to() const;

  void Raised(OwnerEpoch owner_epoch);
  // As this process has raised it last; 0: it has not.
  OwnerEpoch owner_epoch();

  Changes Take();
  void StoredTo(const StreamPosition& position);
  void GiveBack(Changes changes);

  // The oldest entries, at most `most`: filed before `limit`, with all ids below the frontier.
  std::vector<Aged> FindAged(LogTime limit, int64_t frontier, size_t most) const;
  // Below the horizon; an id of a record before it may be forgotten.
  void Forget(size_t entries, LogTime horizon);

  Numbers Count() const;

 private:
  // Finished ids of the engine.
  class Finished {
   public:
    struct Record {
      Coordinates at;
      uint32_t fingerprint = 0;
      std::string_view result = {};
      uint32_t completer = 0;
      LogTime kept_to;
    };
    Finished(OwnedIds& ids, std::map<std::string, std::string>& kept, const Coordinates& at,
             milliseconds allows)
        : ids_(ids), kept_(kept), at_(at), allows_(allows) {}

    std::optional<Record> Find(const Found& at) const;
    bool CompletedBy(const Record& done, const Token& token) const;
    void Append(const Found& at, const Finishing& finishing);
    void Seen(const Found& at, const Record& done, LogTime time);
    LogTime horizon() const { return horizon_; }
    void Keep(const Found& at, Marker& marker);
    void Forget(const Found& at, const Marker& marker);

    void set_wall(LogTime wall) { wall_ = wall; }
    void RaiseWatermark(LogTime watermark) { watermark_ = std::max(watermark_, watermark); }
    void RaiseHorizon(LogTime horizon) { horizon_ = std::max(horizon_, horizon); }

   private:
    LogTime TimeOf(LogTime time) const;

    OwnedIds& ids_;
    std::map<std::string, std::string>& kept_;
    const Coordinates at_;  // but for the offset
    const milliseconds allows_;
    LogTime wall_;
    LogTime watermark_ = kNoLogTime;
    LogTime horizon_ = LogTime::min();
  };

  const uint32_t source_;
  const int32_t partition_;
  const bool opaque_;
  const KeyedHash::Secret secret_;
  const Clock& clock_;

  Mutex control_;  // before mutex_
  mutable Mutex mutex_;
  OwnedIds ids_ GUARDED_BY(mutex_);
  std::map<std::string, std::string> kept_ GUARDED_BY(mutex_);  // changes, as in Changes
  Finished finished_ GUARDED_BY(mutex_);
  MarkerEngine<Finished> engine_ GUARDED_BY(mutex_);
};

}  // namespace oncemq
