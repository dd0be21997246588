// SPDX-License-Identifier: Apache-2.0
// Park topics: `<topic>.park` keeps what a service refused for good (RejectPolicy::kPark).
//
//   CreateParkTopics(options, seconds(10));
//   ReadParked(options, seconds(10), [&](const ParkedEntry& entry) { return heads.Add(entry); });
//   CommandParked(options, {.run = "after the fix"}, heads, seconds(60), stop);
//   EditParked(options, corrected, "ticket-7", seconds(10));
//
// **Promise:** an entry is the whole record: key, value, headers, time. Entries of one message are
// one entry.
//
// **Failure:** kUnavailable, kTimeout where no broker answers. kNotFound: there is no such topic.
//
// **Thread safety:** any thread. Each call opens a client of its own, and blocks.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/framework/runtime.h"

namespace oncemq {

inline constexpr std::string_view kParkSuffix = ".park";
// The headers of our own in an entry (docs/formats.md).
inline constexpr std::string_view kParkHeader = "oncemq-park";
inline constexpr std::string_view kParkIdHeader = "oncemq-park-id";

std::string ParkTopicOf(std::string_view topic);

// Makes the missing ones of the service, with the partitions and replicas of their source, and
// unlimited retention. Returns their names, or kInvalid if an existing one does not fit.
Result<std::vector<std::string>> CreateParkTopics(const RuntimeOptions& options,
                                                  milliseconds within);

// kNotFound, kInvalid: a service with RejectPolicy::kPark must not start with them.
Status CheckParkTopics(const RuntimeOptions& options, milliseconds within);

struct ParkedEntry {
  // Place of the message in its source.
  std::string topic;
  int32_t partition = 0;
  int64_t offset = 0;
  int64_t park_offset = 0;
  int64_t body_offset = 0;  // in the park topic, that of the last edit if there is one
  int64_t timestamp_ms = -1;
  std::string id;
  std::string why;
  uint32_t attempts = 0;   // calls of its handler; 1 where only a call may have been made
  uint32_t redrives = 0;   // with another refusal at the end
  int64_t head = 0;        // the first one of its key; the others follow it
  bool redriving = false;  // its key, at present
  std::optional<std::string> key;
  std::optional<std::string> value;
  // Its own, in order.
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
};

// All that is parked now, partition by partition in the order of its parking, until `take` returns
// false. Records without our header are passed over. It keeps the edited bodies of a partition.
Status ReadParked(const RuntimeOptions& options, milliseconds within,
                  const std::function<bool(const ParkedEntry&)>& take);

struct ParkedCount {
  std::string topic;  // the source
  int32_t partition = 0;
  uint64_t messages = 0;  // parked now
};

// Counts each partition of the existing park topics, and keeps no bodies.
Result<std::vector<ParkedCount>> CountParked(const RuntimeOptions& options, milliseconds within);

struct ParkedName {
  std::string topic;
  int32_t partition = 0;
  int64_t offset = 0;
};

// A record about a message, by its kind in docs/formats.md.
struct ParkEvent {
  std::string kind;
  int64_t park_offset = 0;
  int64_t offset = 0;  // of the message in it, for some the head of the key
  bool counts = true;  // else it came too late, or twice
  OwnerEpoch owner = 0;
  std::string run;
  std::string why;
};

// One message with all that is known of it, parked or ended.
struct ParkedMessage {
  ParkedEntry entry;
  bool parked = false;
  bool editable = false;  // parked, and in no hand
  // Its topic has it no longer.
  std::optional<bool> original_gone;
  std::vector<int64_t> chain;  // parked messages of its key, in order, itself included
  std::vector<ParkEvent> history;
};

// kNotFound: it was never parked.
Result<ParkedMessage> ReadParkedMessage(const RuntimeOptions& options, const ParkedName& name,
                                        milliseconds within);

// Those under an id, also the ended ones.
Result<std::vector<ParkedName>> FindParked(const RuntimeOptions& options, std::string_view id,
                                           milliseconds within);

// kInvalid: the message is not editable, or `edited` has another key or id, by the recipe of the
// service.
Status CheckEdit(const RuntimeOptions& options, const ParkedMessage& message,
                 const ParkedEntry& edited);

// Puts the value and the headers of `edited` in the place of the body that it was read with. The
// next redrive runs them. False: the edit counts for nothing, since a redrive, a drop or another
// edit came first.
Result<bool> EditParked(const RuntimeOptions& options, const ParkedEntry& edited,
                        const std::string& run, milliseconds within);

// A change of parked messages. The command is a record of the park topic, and the owner of the
// partition carries it out, on any host.
struct ParkCommand {
  enum class Kind : uint8_t {
    kRedrive,  // runs the head and its followers, in order, through the window
    kDrop,     // gives the message up; the others of its key stay
    kCancel,   // ends the redrives of the run after the messages in hand
  };
  Kind kind = Kind::kRedrive;
  std::string run;            // names this run
  uint32_t per_second = 100;  // commands at most
};

struct ParkProgress {
  uint64_t commands = 0;       // sent so far
  uint64_t ended = 0;          // messages, done or dropped
  uint64_t refused_again = 0;  // heads; their followers stay
  uint64_t open = 0;           // commands without an outcome, or not sent
};

// Sends a command for each of the messages, and follows their outcomes. It ends with the last
// outcome, after `patience` without any, or on `stop`. Commands without an outcome stay in force.
// kRedrive is for heads, and kCancel for one message of each partition.
Result<ParkProgress> CommandParked(const RuntimeOptions& options, const ParkCommand& command,
                                   std::span<const ParkedEntry> messages, milliseconds patience,
                                   const std::stop_token& stop);

}  // namespace oncemq
