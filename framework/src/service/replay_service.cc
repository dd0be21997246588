// SPDX-License-Identifier: Apache-2.0
#include "replay_service.h"

#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "check_replay.h"
#include "exit_code.h"
#include "oncemq/base/log.h"
#include "oncemq/framework/service_file.h"
#include "oncemq/framework/stop_signals.h"
#include "replay_directory.h"
#include "replay_text.h"
#include "safe_json.h"
#include "serve.h"
#include "service_window.h"

namespace oncemq {
namespace {

constexpr milliseconds kFreezeWithin{10'000};

int CodeOf(const Error& error) {
  const bool away = error.code == Code::kUnavailable || error.code == Code::kTimeout;
  std::cerr << SafeText(error.message) << "\n";
  return away                                                            ? kExitNoService
         : error.code == Code::kInvalid || error.code == Code::kNotFound ? kExitUsage
                                                                         : kExitFailed;
}

// The set of its directory, or a new one.
Result<ReplaySet> SetOf(const ReplayArguments& arguments, const RuntimeOptions& options,
                        ReplayDirectory* directory) {
  if (directory != nullptr) {
    auto kept = directory->ReadSet();
    if (!kept) {
      return kept.error();
    }
    if (*kept && Narrows(arguments.request)) {
      return Error{
          Code::kInvalid, Effect::kNone,
          arguments.directory + " has the set of replay " + (*kept)->id + ": say no other one"};
    }
    if (*kept) {
      return **std::move(kept);
    }
  }
  auto set = FreezeReplay(options, arguments.request, kFreezeWithin);
  const Status is_kept = set && directory != nullptr ? directory->KeepSet(*set) : Status();
  return is_kept ? std::move(set) : is_kept.error();
}

Status Judge(const ReplayArguments& arguments, ServiceOptions options, WindowOpener open_window,
             std::stop_token stop) {
  options.postgres.existing_only = options.redis.existing_only = true;
  const auto window = open_window != nullptr ? open_window(options) : OpenServiceWindow(options);
  if (!window) {
    return window.error();
  }
  if (const Status fits = CheckReplay(options.runtime, window->get()); !fits) {
    return fits;
  }
  std::unique_ptr<ReplayDirectory> directory;
  if (const std::string& path = arguments.directory; !path.empty()) {
    auto opened = ReplayDirectory::Open(path);
    if (!opened) {
      return opened.error();
    }
    directory = *std::move(opened);
  }
  const auto set = SetOf(arguments, options.runtime, directory.get());
  if (!set) {
    return set.error();
  }
  const auto table = JudgeReplay(options.runtime, *set, **window, std::move(stop));
  if (!table) {
    return table.error();
  }
  std::cout << (arguments.json ? ReplayJson(*set, *table) + "\n" : ReplayText(*set, *table))
            << std::flush;
  return {};
}

}  // namespace

int JudgeService(const ReplayArguments& arguments, WindowOpener open_window) {
  auto options = LoadService(arguments.config);
  if (!options) {
    return CodeOf(options.error());
  }
  StopSignals signals;
  // The log of the service may be a file that the service writes.
  StartLogging({});
  const Status judged = Judge(arguments, *std::move(options), open_window, signals.token());
  StopLogging();
  if (signals.received() != 0) {
    return kExitSignal + signals.received();
  }
  return judged ? kExitDone : CodeOf(judged.error());
}

}  // namespace oncemq
