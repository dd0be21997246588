// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/run_service.h"

#include <exception>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exit_code.h"
#include "oncemq/base/clock.h"
#include "oncemq/framework/service_file.h"
#include "replay_service.h"
#include "report.h"
#include "serve.h"

namespace oncemq {
namespace {

struct ServiceArguments {
  std::string file;
  bool help = false;
};

Error WrongArguments(std::string message) {
  return {Code::kInvalid, Effect::kNone, std::move(message)};
}

Result<ServiceArguments> ReadServiceArguments(int argc, char** argv) {
  constexpr std::string_view kJoined = "--config=";
  ServiceArguments arguments;
  for (int at = 1; at < argc; at++) {
    const std::string_view word = argv[at];
    std::string file;
    if (word == "-h" || word == "--help") {
      arguments.help = true;
      continue;
    }
    if (word.starts_with(kJoined)) {
      file = word.substr(kJoined.size());
    } else if ((word == "-c" || word == "--config") && at + 1 < argc) {
      file = argv[++at];
    } else {
      return WrongArguments(word == "-c" || word == "--config"
                                ? std::string(word) + " wants a service file"
                                : "unknown argument `" + std::string(word) + "`");
    }
    if (file.empty() || !arguments.file.empty()) {
      return WrongArguments("one service file is needed: -c FILE");
    }
    arguments.file = std::move(file);
  }
  if (arguments.file.empty() && !arguments.help) {
    return WrongArguments("which service file? Say -c FILE");
  }
  return arguments;
}

std::string_view NameOf(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // from 0 on where there is none
}

std::string UsageOf(std::string_view program) {
  return "usage: " + std::string(program) +
         " -c FILE\n"
         "       " +
         std::string(program) +
         " replay -c FILE --since TIME   judges messages of the past: replay --help\n"
         "  -c, --config FILE   the service file; `oncemq check -c FILE` explains it\n"
         "  -h, --help          this text\n";
}

int RunFile(const std::string& file, Handler handler, const RunServiceOptions& options) {
  const Result<ServiceOptions> service = LoadService(file);
  if (!service) {
    return ReportRefusal(service.error());
  }
  return Serve(
      *service,
      {.handler = [&](StopSignals&) { return std::move(handler); },
       .open_locks = options.open_locks,
       .open_window = options.open_window,
       // The handler may write its results to standard output.
       .report = [](const RunReport& report) { std::cerr << ReportText(report) << std::flush; }});
}

int Replay(std::string_view program, std::span<char*> words, const RunServiceOptions& options) {
  const auto arguments = ReadReplayArguments(std::vector<std::string>(words.begin(), words.end()),
                                             SystemClock::Instance().Wall().micros / 1'000);
  if (!arguments) {
    std::cerr << arguments.error().message << "\n" << ReplayUsage(program);
    return kExitUsage;
  }
  if (arguments->help) {
    std::cout << ReplayUsage(program) << std::flush;
    return kExitDone;
  }
  return JudgeService(*arguments, options.open_window);
}

template <class Call>
int WithoutExceptions(const Call& call) {
  try {
    return call();
  } catch (const std::exception& error) {  // out of memory, or of threads
    std::cerr << "oncemq: " << error.what() << "\n";
    return kExitFailed;
  }
}

}  // namespace

int RunServiceFile(const std::string& file, Handler handler, const RunServiceOptions& options) {
  return WithoutExceptions([&] { return RunFile(file, std::move(handler), options); });
}

int RunService(int argc, char** argv, Handler handler, const RunServiceOptions& options) {
  const std::string_view program = argc > 0 ? argv[0] : "service";
  if (argc > 1 && std::string_view(argv[1]) == "replay") {
    return WithoutExceptions([&] {
      return Replay(NameOf(program), {argv + 2, argv + argc}, options);
    });
  }
  const std::string usage = UsageOf(NameOf(program));
  const Result<ServiceArguments> arguments = ReadServiceArguments(argc, argv);
  if (!arguments) {
    std::cerr << arguments.error().message << "\n" << usage;
    return kExitUsage;
  }
  if (arguments->help) {
    std::cout << usage << std::flush;
    return kExitDone;
  }
  return RunServiceFile(arguments->file, std::move(handler), options);
}

}  // namespace oncemq
