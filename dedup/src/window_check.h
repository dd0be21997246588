// SPDX-License-Identifier: Apache-2.0
// What every engine refuses: at its opening, options that promise nothing; before it applies any
// request of a batch, ids and results that are too long, empty tokens, too few places for answers,
// offsets that no log has.
//
// Thread safety: any thread.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "oncemq/dedup/window.h"

namespace oncemq {

inline Error InvalidRequest(std::string message) {
  return {Code::kInvalid, Effect::kNone, std::move(message)};
}

// Others changed the ids of a call in each try.
inline Error ChangedEachTime(Effect effect) {
  return {Code::kBusy, effect, "other processes changed these ids each time; ask again"};
}

// `expected`: the caller says that it was made before.
inline Error NoSuchScope(std::string_view scope, bool expected) {
  const std::string name(scope);
  return {expected ? Code::kInvalid : Code::kNotFound, Effect::kNone,
          expected
              ? "the scope \"" + name +
                    "\" is not there, and `expect_scope` says that it was made: the store has "
                    "lost it, or another address, schema or prefix is meant; bring it back, or "
                    "open once without `expect_scope`, after which copies of earlier ids run"
              : "no process has opened the window of the scope \"" + name + "\" yet"};
}

// Of effects that come without a request.
inline Error NoMarkerForEffects() {
  return InvalidRequest("effects need at least one request: its marker says that they are there");
}

template <class Request>
std::string_view IdOf(const Request& request) {
  if constexpr (std::is_same_v<Request, std::string_view>) {
    return request;
  } else {
    return request.id;
  }
}

template <class Request>
Status CheckBatch(const WindowCapabilities& limits, std::span<const Request> requests,
                  size_t replies) {
  if (replies < requests.size()) {
    return InvalidRequest("fewer places for answers than requests");
  }
  for (const Request& request : requests) {
    const std::string_view id = IdOf(request);
    if (id.empty() || id.size() > limits.max_id_bytes) {
      return InvalidRequest("an id has 1 to " + std::to_string(limits.max_id_bytes) +
                            " bytes, not " + std::to_string(id.size()));
    }
    if constexpr (requires { request.token; }) {
      if (request.token.empty()) {
        return InvalidRequest("an empty token names no claim");
      }
    }
    if constexpr (requires { request.lease; }) {
      if (request.lease < milliseconds(0) || request.lease > kLongestClaim) {
        return InvalidRequest("a lease lasts at most a year");
      }
    }
    if constexpr (requires { request.keep; }) {
      if (request.keep < milliseconds(0) ||
          (request.keep > kLongestKeep && request.keep != kForEver)) {
        return InvalidRequest("an id is kept for at most a century, or for ever");
      }
    }
    if constexpr (requires { request.result; }) {
      if (request.result.size() > limits.max_result_bytes) {
        return InvalidRequest("a result has at most " + std::to_string(limits.max_result_bytes) +
                              " bytes, not " + std::to_string(request.result.size()));
      }
    }
  }
  return {};
}

inline Status CheckAnnouncements(std::span<const Announcement> announcements) {
  for (const Announcement& one : announcements) {
    if (one.from < 0 || one.to < one.from || one.offset < 0) {
      return InvalidRequest("what is known reaches from an offset to a later one");
    }
  }
  return {};
}

inline Status CheckProgress(std::span<const Progress> progress, size_t replies) {
  if (replies < progress.size()) {
    return InvalidRequest("fewer places for answers than requests");
  }
  for (const Progress& one : progress) {
    if (one.frontier < 0) {
      return InvalidRequest("a commit is at an offset, not at " + std::to_string(one.frontier));
    }
  }
  return {};
}

inline Error NewerOwner() {
  return {Code::kFenced, Effect::kNone, "the partition has a newer owner"};
}

// What every engine asks of the options that decide its promise.
inline Status CheckPromise(std::optional<Level> level, const WindowTimes& times,
                           std::string_view engine, bool atomic = false) {
  if (!level) {
    return InvalidRequest(
        "say which level: guarded if the target of your effect stores the id with it and answers "
        "`already done`, opaque if nobody can check it");
  }
  if (*level == Level::kAtomic && !atomic) {
    return InvalidRequest("level atomic is impossible with the " + std::string(engine) +
                          " window: it does not commit together with an effect; use guarded or "
                          "opaque");
  }
  if (times.lease <= milliseconds(0) || times.max_lease < times.lease ||
      times.max_lease > kLongestClaim || times.handler_timeout < milliseconds(0) ||
      times.handler_timeout > kLongestClaim) {
    return InvalidRequest(
        "times need 0 < lease <= max_lease and handler_timeout >= 0, all within a year");
  }
  return {};
}

}  // namespace oncemq
