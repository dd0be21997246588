// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/run_service.h"

#include <exception>
#include <iostream>
#include <string_view>
#include <utility>

#include "exit_code.h"
#include "oncemq/framework/service_file.h"
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

std::string UsageOf(std::string_view program) {
  program.remove_prefix(program.rfind('/') + 1);  // 0 where there is none
  return "usage: " + std::string(program) +
         " -c FILE\n"
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

}  // namespace

int RunServiceFile(const std::string& file, Handler handler, const RunServiceOptions& options) {
  try {
    return RunFile(file, std::move(handler), options);
  } catch (const std::exception& error) {  // out of memory, or of threads
    std::cerr << "oncemq: " << error.what() << "\n";
    return kExitFailed;
  }
}

int RunService(int argc, char** argv, Handler handler, const RunServiceOptions& options) {
  const std::string usage = UsageOf(argc > 0 ? argv[0] : "service");
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
