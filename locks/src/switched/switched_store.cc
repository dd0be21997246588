// SPDX-License-Identifier: Apache-2.0
#include "switched_store.h"

#include <exception>

namespace oncemq {
namespace {

constexpr std::string_view kNameOfQuestions = "oncemq/question";
constexpr milliseconds kQuestionLasts{1'000};

// It is the user's, and others wait for what comes of it.
Result<std::shared_ptr<LockEngine>> OpenedBy(const NamedLocks& named) {
  const auto failed = [&](const char* what) {
    return Error{Code::kInternal, Effect::kNone,
                 "the store " + named.name + " was not opened: " + what};
  };
  try {
    auto opened = named.open();
    return !opened || *opened ? opened : failed("there is none");
  } catch (const std::exception& error) {
    return failed(error.what());
  } catch (...) {
    return failed("an exception of an unknown type");
  }
}

}  // namespace

SwitchedStore::~SwitchedStore() {
  MutexLock lock(mutex_);
  if (engine_ != nullptr) {
    engine_->Unlisten(listeners_);
  }
}

SwitchedStore::Opened SwitchedStore::Engine() {
  const auto mine = std::make_shared<Opening>();
  {
    MutexLock lock(mutex_);
    if (engine_ != nullptr) {
      return engine_;
    }
    if (const auto other = opening_) {
      waiting_++;
      opened_.wait(mutex_, [&] { return other->has_value(); });
      waiting_--;
      return **other;
    }
    opening_ = mine;
  }
  const Opened opened = OpenedBy(named_);
  MutexLock lock(mutex_);
  *mine = opened;
  if (opened) {
    engine_ = *opened;
    engine_->Listen(listeners_);
  }
  opening_.reset();
  opened_.notify_all();
  return opened;
}

Status SwitchedStore::Await(Switchboard& board, const AcquireRequest& request, BootTime until,
                            const std::stop_token& stop) {
  const auto engine = Engine();
  const Status done = engine ? (*engine)->Await(request, until, stop) : Status(engine.error());
  if (!done && IsTransient(done.error())) {
    board.Report(name(), false);
  }
  return done;
}

Result<uint32_t> SwitchedStore::Seal(uint32_t epoch) {
  const auto engine = Engine();
  return engine ? (*engine)->Seal(epoch) : engine.error();
}

Status SwitchedStore::Answers() {
  const auto engine = Engine();
  return engine ? Grants(**engine) : Status(engine.error());
}

// An engine need not cope with two requests of one token at a time.
Status SwitchedStore::Grants(LockEngine& engine) {
  MutexLock alone(questions_);
  return Question(engine);
}

// In whichever epoch the store is: nothing rests on who has that name.
Status SwitchedStore::Question(LockEngine& engine) {
  AcquireRequest request{.name = kNameOfQuestions,
                         .token = probe_token_,
                         .queue = false,
                         .lease = kQuestionLasts,
                         .queue_lease = kQuestionLasts,
                         .who = "a switchboard that asks whether names are to be had",
                         .epoch = epoch_};
  auto answer = engine.Request(request);
  if (answer && answer->kind == LockAnswer::Kind::kSealed) {
    epoch_ = request.epoch = answer->fence.epoch;
    answer = engine.Request(request);
  }
  if (!answer) {
    return answer.error();
  }
  if (answer->kind != LockAnswer::Kind::kGranted) {
    return {};  // somebody else asks, or has just sealed it: it takes what it is told
  }
  const LockClaim claim{request.name, request.token};
  Freed freed{};
  return engine.Free({&claim, 1}, {&freed, 1});
}

size_t SwitchedStore::waiting() const {
  MutexLock lock(mutex_);
  return waiting_;
}

}  // namespace oncemq
