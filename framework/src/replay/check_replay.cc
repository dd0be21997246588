// SPDX-License-Identifier: Apache-2.0
#include "check_replay.h"

namespace oncemq {
namespace {

Error Refused(std::string why) {
  return {Code::kInvalid, Effect::kNone, "the service can't be replayed: " + std::move(why)};
}

}  // namespace

Status CheckReplay(const RuntimeOptions& options, Window* window) {
  if (window == nullptr) {
    return Refused("it has no window, so nothing tells which messages are done");
  }
  if (options.missing_id == MissingId::kPass) {
    return Refused(
        "with `missing_id: pass` messages without an id have no marker, and all of them would run "
        "again");
  }
  if (options.locks.elided) {
    return Refused(
        "its locks are elided, so only the owner of a partition holds names of its messages");
  }
  const WindowCapabilities& can = window->capabilities();
  const Status looks = window->Judge({}, {});
  if (!can.shared || (!looks && looks.error().code == Code::kInvalid)) {
    return Refused(
        "the window `" + std::string(can.engine) + "` " +
        (can.shared ? "with ids that their partitions own " : "") +
        "answers the owners of partitions alone; a replay needs one in PostgreSQL, or in "
        "Redis with ids that cross partitions");
  }
  return {};
}

}  // namespace oncemq
