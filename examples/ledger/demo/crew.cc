// SPDX-License-Identifier: Apache-2.0
#include "crew.h"

#include <csignal>
#include <system_error>

namespace ledger::demo {
namespace {

using oncemq::Status;

constexpr char kSession[] = "4s";                // the embedded broker takes no shorter one
constexpr oncemq::milliseconds kLeaves{15'000};  // a writer that was asked to
constexpr int kStoppedInOrder = 128 + SIGTERM;   // RunService

oncemq::Error Failed(size_t writer, const std::string& what) {
  return {oncemq::Code::kInternal, oncemq::Effect::kUnknown,
          "writer " + std::to_string(writer + 1) + " " + what};
}

}  // namespace

std::filesystem::path Crew::HomeOf(size_t writer) const {
  return options_.directory / ("writer-" + std::to_string(writer + 1));
}

Status Crew::StartOne(size_t writer) {
  const auto home = HomeOf(writer);
  std::error_code failed;
  std::filesystem::create_directories(home / "build", failed);
  auto child = Child::Start({.command = {options_.program, "-c", options_.service_file},
                             .environment = {{"BROKER", options_.brokers},
                                             {"LEDGER_DB", options_.database},
                                             {"PWD", home},
                                             {"SESSION", kSession}},
                             .log = home / "log"});
  if (!child) {
    return child.error();
  }
  writers_[writer].child = *std::move(child);
  return {};
}

Status Crew::Start() {
  for (size_t i = 0; i < kWriters; i++) {
    if (const Status started = StartOne(i); !started) {
      return started;
    }
  }
  return {};
}

void Crew::Kill(size_t writer, oncemq::BootTime back_at) {
  writers_[writer].child.reset();
  writers_[writer].back_at = back_at;
  kills_++;
}

Status Crew::Tend(oncemq::BootTime now) {
  for (size_t i = 0; i < kWriters; i++) {
    if (!Running(i) && now >= writers_[i].back_at) {
      if (const Status started = StartOne(i); !started) {
        return started;
      }
    }
    if (Running(i) && writers_[i].child->Ended()) {
      return Failed(i, "ended by itself with " + std::to_string(*writers_[i].child->Ended()) +
                           "; see " + (HomeOf(i) / "log").string());
    }
  }
  return {};
}

Status Crew::Leave() {
  for (const Writer& writer : writers_) {
    if (writer.child != nullptr) {
      writer.child->Signal(SIGTERM);
    }
  }
  Status left;
  for (size_t i = 0; i < kWriters; i++) {
    const auto ended = Running(i) ? writers_[i].child->Wait(kLeaves) : std::nullopt;
    if (ended != kStoppedInOrder) {
      left = Failed(i, ended ? "left with " + std::to_string(*ended) : "did not leave");
    }
    writers_[i].child.reset();
  }
  return left;
}

std::vector<std::filesystem::path> Crew::Journals() const {
  std::vector<std::filesystem::path> journals;
  for (size_t i = 0; i < kWriters; i++) {
    journals.push_back(HomeOf(i) / "build/ledger.refused");
  }
  return journals;
}

oncemq::Result<std::unique_ptr<Child>> Crew::Close(const std::string& day, const std::string& log) {
  return Child::Start({.command = {options_.program, "close", "--day", day},
                       .environment = {{"LEDGER_DB", options_.database}},
                       .log = options_.directory / log});
}

}  // namespace ledger::demo
