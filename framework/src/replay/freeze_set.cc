// SPDX-License-Identifier: Apache-2.0
#include "freeze_set.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <limits>
#include <utility>

#include "oncemq/base/bytes.h"

namespace oncemq {
namespace {

constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();

Error Invalid(std::string why) {
  return {Code::kInvalid, Effect::kNone, std::move(why)};
}

std::string NameOf(const ReplayPartition& at) {
  return at.topic + " [" + std::to_string(at.partition) + "]";
}

// Sorts by time in a listing.
std::string IdOf(const ReplayFacts& facts) {
  using std::chrono::sys_time;
  const sys_time<milliseconds> now{milliseconds(facts.now_ms)};
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(now - day);
  char text[64];
  std::snprintf(text, sizeof text, "r-%04d%02u%02u-%02d%02d%02d-", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return text + Hex(facts.random).substr(10);
}

bool IsAsked(const ReplayRequest& request, int32_t partition) {
  return request.partitions.empty() ||
         std::ranges::find(request.partitions, partition) != request.partitions.end();
}

// The end that the request asks for.
int64_t WantedEnd(const ReplayRequest& request, const ReplayPartition& at) {
  return std::min({at.log_end, at.at_until.value_or(kNoEnd), request.to.value_or(kNoEnd)});
}

// Above the frontier the live group has the messages.
ReplayRange RangeOf(const ReplayRequest& request, const ReplayPartition& at) {
  ReplayRange range{.topic = at.topic, .partition = at.partition};
  range.frontier = at.committed.value_or(0);
  range.since = at.since.value_or(range.frontier);
  range.from = std::max({at.log_start, at.at_since.value_or(0), request.from.value_or(0)});
  range.to = std::min(WantedEnd(request, at), range.frontier);
  return range;
}

void AddNotices(const ReplayRequest& request, const ReplayPartition& at, const ReplayRange& range,
                std::vector<std::string>& notices) {
  const std::string name = NameOf(at) + ": ";
  if (!at.committed) {
    notices.push_back(name + "the group has not begun it, so no message of it is in the set");
    return;
  }
  if (request.from && *request.from < at.log_start) {
    notices.push_back(name + std::to_string(at.log_start - *request.from) +
                      " offsets are gone from the log, from " + std::to_string(*request.from) +
                      " on");
  } else if (at.at_since == at.log_start && at.log_start > 0) {
    notices.push_back(name + "the log begins at offset " + std::to_string(at.log_start) +
                      ", and earlier records of that time may be gone");
  }
  const int64_t left = WantedEnd(request, at) - std::max(range.from, range.frontier);
  if (left > 0) {
    notices.push_back(name + std::to_string(left) +
                      " offsets above the frontier are left to the live group");
  }
  if (!at.since && range.from < range.to) {
    notices.push_back(name +
                      "its commit is not of this service, so each message in the set "
                      "counts as before the group's history");
  }
}

std::string EmptyText(const ReplayRequest& request, const ReplayPartition& at) {
  return NameOf(at) + " asked " + std::to_string(RangeOf(request, at).from) + " to " +
         std::to_string(WantedEnd(request, at)) + ", " +
         (at.committed ? "frontier " + std::to_string(*at.committed) : "no commit");
}

Error Empty(const ReplayRequest& request, const std::vector<ReplayPartition>& partitions) {
  constexpr size_t kNamed = 4;
  std::string text = "no message is left to replay: ";
  size_t count = 0;
  for (const ReplayPartition& at : partitions) {
    if (IsAsked(request, at.partition) && count++ < kNamed) {
      text += (count > 1 ? "; " : "") + EmptyText(request, at);
    }
  }
  return Invalid(text + (count > kNamed
                             ? "; and " + std::to_string(count - kNamed) + " more partitions"
                             : ""));
}

}  // namespace

Result<std::vector<std::string>> ReplayTopics(const ReplayRequest& request,
                                              const std::vector<std::string>& of_service) {
  if (!request.since_ms && !request.from) {
    return Invalid("a replay begins at a time or at an offset, and the request says neither");
  }
  for (const std::string& topic : request.topics) {
    if (std::ranges::find(of_service, topic) == of_service.end()) {
      return Invalid("the service does not read the topic " + topic);
    }
  }
  std::vector<std::string> topics;
  std::ranges::copy_if(of_service, std::back_inserter(topics), [&](const std::string& topic) {
    return request.topics.empty() ||
           std::ranges::find(request.topics, topic) != request.topics.end();
  });
  if ((request.from || request.to) && (topics.size() != 1 || request.partitions.size() != 1)) {
    return Invalid("offsets are of one partition: name its topic and its number");
  }
  return topics;
}

Result<ReplaySet> FreezeSet(const ReplayRequest& request, ReplayFacts facts) {
  for (const int32_t partition : request.partitions) {
    if (std::ranges::find(facts.partitions, partition, &ReplayPartition::partition) ==
        facts.partitions.end()) {
      return Invalid("no topic of the replay has a partition " + std::to_string(partition));
    }
  }
  ReplaySet set{.id = IdOf(facts),
                .cluster = facts.cluster,
                .owner = facts.owner,
                .frozen_ms = facts.now_ms,
                .ranges = {},
                .notices = std::move(facts.notices)};
  for (const ReplayPartition& at : facts.partitions) {
    if (!IsAsked(request, at.partition)) {
      continue;
    }
    const ReplayRange range = RangeOf(request, at);
    AddNotices(request, at, range, set.notices);
    if (range.from < range.to) {
      set.ranges.push_back(range);
    }
  }
  return set.ranges.empty() ? Result<ReplaySet>(Empty(request, facts.partitions))
                            : Result<ReplaySet>(std::move(set));
}

}  // namespace oncemq
