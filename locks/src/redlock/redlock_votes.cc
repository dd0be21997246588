// SPDX-License-Identifier: Apache-2.0
#include "redlock_votes.h"

#include <algorithm>

#include "../redis/redis_scripts.h"

namespace oncemq {

const RedisReply* RedlockReply(const std::optional<RedlockAnswer>& answer, size_t list) {
  if (!answer || !*answer || (**answer).size() <= list ||
      (**answer)[list].kind == RedisReply::Kind::kError) {
    return nullptr;
  }
  return &(**answer)[list];
}

bool RedlockMayHaveDone(const std::optional<RedlockAnswer>& answer) {
  if (!answer) {
    return true;
  }
  if (!*answer) {
    return answer->error().effect == Effect::kUnknown;
  }
  const RedisReply& reply = (**answer).front();
  return reply.kind == RedisReply::Kind::kError && RedisError(reply.text).effect != Effect::kNone;
}

RedlockVotes CountRedlock(const RedlockAnswers& answers, size_t list) {
  RedlockVotes votes;
  for (const auto& answer : answers) {
    const RedisReply* reply = RedlockReply(answer, list);
    if (!answer) {
      votes.pending++;
    } else if (reply == nullptr) {
      votes.away++;
    } else if (reply->integer >= 1) {
      votes.yes++;
    } else {
      votes.no++;
    }
  }
  return votes;
}

bool RedlockDecided(const RedlockAnswers& answers, size_t lists, size_t majority) {
  for (size_t list = 0; list < lists; list++) {
    const RedlockVotes votes = CountRedlock(answers, list);
    if (votes.yes < majority && (votes.yes + votes.pending >= majority ||
                                 (votes.answered() < majority && votes.pending > 0))) {
      return false;
    }
  }
  return true;
}

RedlockSaid RedlockTally(const RedlockAnswers& answers) {
  RedlockSaid said;
  for (const auto& answer : answers) {
    said.pending += answer ? 0 : 1;
    const RedisReply* reply = RedlockReply(answer, 0);
    if (reply == nullptr || reply->list.size() != 4) {
      continue;
    }
    const int64_t kind = reply->list[0].integer;
    said.granted += kind == kRedisGranted ? 1 : 0;
    said.busy += kind == kRedisBusy ? 1 : 0;
    if (kind == kRedisSealed) {
      said.sealed++;
      said.epoch = std::max(said.epoch, static_cast<uint32_t>(reply->list[3].integer));
    }
  }
  return said;
}

bool RedlockSaid::Decided(size_t majority) const {
  if (granted >= majority || sealed >= majority) {
    return true;
  }
  return granted + pending < majority && sealed + pending < majority &&
         (answered() >= majority || answered() + pending < majority);
}

}  // namespace oncemq
