// SPDX-License-Identifier: Apache-2.0
// Holdups: finds the partitions of this member that do not move, and the message that holds up
// each. `oncemq status` tells it, and every 30 s the log.
//
//   if (holdups.LogsDue(now)) holdups.SeeLog(id, source.LogOf(id));     // for each partition
//   holdups.Note(id, report.partitions[i], now);                        // likewise
//   auto open = holdups.ListOpen(now);
//   core.FindOldest(open);
//   holdups.Keep(std::move(open));
//   holdups.Describe(id, report.partitions[i], now, wall);              // for each partition
//   holdups.ReportHoldups(report, now);
//
// **Limits:** the lowest messages are looked up once a second. The log gets kMostReported lines at
// a time: partitions with the same reason share one.
//
// **Thread safety:** none; belongs to the poll thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "oncemq/framework/runtime.h"
#include "source.h"

namespace oncemq {

// The trace of an open message, for the lines of its log (LogScope). nullptr: there is none.
inline std::string_view OpenTraceId(const void* message) {
  return message == nullptr ? std::string_view()
                            : std::string_view(static_cast<const OpenMessage*>(message)->trace_id);
}

class Holdups {
 public:
  static constexpr size_t kMostReported = 8;

  bool LogsDue(BootTime now);
  void SeeLog(PartitionId id, const LogSight& log);

  // Fills in the lag, and for how long nothing has moved.
  void Note(PartitionId id, PartitionReport& one, BootTime now);

  // Partitions with an open message, to be filled in by Core::FindOldest(). Once a second.
  std::vector<OpenMessage> ListOpen(BootTime now);
  void Keep(std::vector<OpenMessage> found);
  // The message stops its partition.
  void NoteStopper(OpenMessage message, BootTime now);
  // nullptr: no message has stopped it.
  const OpenMessage* StopperOf(PartitionId id) const;

  // Fills in the age of the lowest message, and the message itself after a second. In a stopped
  // partition the message that has stopped it stands for the lowest one.
  void Describe(PartitionId id, PartitionReport& one, BootTime now, LogTime wall) const;

  void ReportHoldups(const RunReport& report, BootTime now);

 private:
  // Changes with everything that counts as a step.
  struct Mark {
    uint32_t epoch = 0;
    int64_t ended = -1;
    int64_t catch_up_left = 0;
    bool operator==(const Mark&) const = default;
  };
  struct Partition {
    LogSight log;
    Mark mark;
    BootTime moved_at{};
    bool stands = false;  // something is open, and the frontier is where it was
    uint32_t epoch = 0;
    int64_t frontier = -1;
    BootTime stands_since{};
    std::optional<OpenMessage> oldest;
    LogTime lowest = kNoLogTime;  // the time of the lowest message's record, as of the last look
    std::optional<OpenMessage> stopper;
    BootTime stopped_at{};
  };
  Partition& At(PartitionId id);
  static bool HasWork(const PartitionReport& one, const LogSight& log);

  std::vector<Partition> partitions_;
  BootTime logs_at_{};
  BootTime list_open_at_{};
  BootTime report_at_{};
};

}  // namespace oncemq
