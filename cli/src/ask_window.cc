// SPDX-License-Identifier: Apache-2.0
#include "ask_window.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <utility>

#include "admin_client.h"
#include "command_window.h"
#include "exit_code.h"
#include "oncemq/framework/service_file.h"
#include "safe_json.h"
#ifdef ONCEMQ_WITH_ROCKSDB
#include "oncemq/dedup/store_look.h"
#endif

namespace oncemq {
namespace {

constexpr char kByService[] = "# By the service that runs at ";
constexpr char kReadFrom[] = "# Read from the directory ";
constexpr milliseconds kLookWithin{60'000};  // many ids take their time to be counted

WindowAnswer ToldCode(const std::string& text, int code) {
  std::cerr << SafeText(text) << "\n";
  WindowAnswer answer;
  answer.code = code;
  return answer;
}

WindowAnswer OfService(Asked asked) {
  WindowAnswer answer;
  answer.code = asked.code;
  answer.from.push_back(kByService + asked.socket);
  answer.services.push_back(std::move(asked.result));
  return answer;
}

#ifdef ONCEMQ_WITH_ROCKSDB

// Of the stores in a directory, those that are held and those that are free.
class StoresOf {
 public:
  // `unasked`: why no running service was asked; empty: nobody named one.
  StoresOf(const WindowQuestion& question, std::string unasked)
      : question_(question), unasked_(std::move(unasked)) {}

  // What a service has said already.
  void Add(Asked asked) {
    answer_.from.push_back(kByService + asked.socket);
    answer_.services.push_back(std::move(asked.result));
    asked_[std::filesystem::absolute(asked.socket)] = "";
  }

  WindowAnswer Answer(const std::string& directory, const std::vector<std::string>& stores) && {
    for (const std::string& store : stores) {
      Look(store);
    }
    if (!answer_.stores.empty() || answer_.services.empty()) {
      answer_.from.push_back(kReadFrom + directory +
                             (unasked_.empty() ? "" : ", since " + unasked_));
    }
    return std::move(answer_);
  }

 private:
  void Look(const std::string& store) {
    const auto opened = StoreLook::Open(store, SystemClock::Instance());
    auto seen = opened ? question_.look(**opened) : Result<nlohmann::ordered_json>(opened.error());
    if (seen) {
      answer_.stores.push_back(*std::move(seen));
    } else if (seen.error().code == Code::kUnavailable) {
      AskHolder(store, seen.error().message);
    } else {
      answer_.unread.push_back({store, seen.error().message});
    }
  }

  // One service holds many stores, and tells of all of them at once.
  void AskHolder(const std::string& store, const std::string& held) {
    const std::string socket = AskedAt(store);
    std::string cannot = unasked_;
    if (!socket.empty()) {
      const auto [known, first] = asked_.try_emplace(socket);
      if (first) {
        Asked asked = AskSocket(socket, question_.request);
        if (asked.code == kExitDone) {
          Add(std::move(asked));
        } else {
          known->second = std::move(asked.why);
        }
      }
      if (known->second.empty()) {
        return;
      }
      cannot = known->second;
    }
    answer_.unread.push_back(
        {store,
         held + (cannot.empty() ? "; it does not say where it can be asked: name its socket with "
                                  "--socket, or its service file with -c"
                                : ", and cannot be asked: " + cannot),
         /*held=*/true});
  }

  const WindowQuestion& question_;
  const std::string unasked_;
  WindowAnswer answer_;
  std::map<std::string, std::string> asked_;  // sockets, and why there was no answer
};

WindowAnswer LookIntoStores(const std::string& directory, const std::string& unasked,
                            const WindowQuestion& question) {
  const std::vector<std::string> stores = FindStores(directory);
  if (stores.empty()) {
    return ToldCode(
        (unasked.empty() ? "" : unasked + "; ") + directory +
            ": no store of a window lies there, nor in <partition> or <topic>/<partition> below it",
        kExitUsage);
  }
  return StoresOf(question, unasked).Answer(directory, stores);
}

// Other members of its group may hold stores beside its own, or nobody does.
WindowAnswer LookFurther(Asked asked, const std::string& directory,
                         const WindowQuestion& question) {
  StoresOf of(question, "");
  of.Add(std::move(asked));
  return std::move(of).Answer(directory, FindStores(directory));
}

#else

WindowAnswer LookIntoStores(const std::string& directory, const std::string&,
                            const WindowQuestion&) {
  return ToldCode(directory + ": this build has no window on disk (ONCEMQ_WITH_ROCKSDB=OFF)",
                  kExitUsage);
}

WindowAnswer LookFurther(Asked asked, const std::string&, const WindowQuestion&) {
  return OfService(std::move(asked));
}

#endif

std::string ReadFrom(const ServiceOptions& options) {
  return options.engine == ServiceOptions::Engine::kRedis
             ? "# Read from Redis, prefix " + options.redis.prefix + ", scope " +
                   options.redis.scope
             : "# Read from the database, schema " + options.postgres.schema + ", scope " +
                   options.postgres.scope;
}

// No service is asked: the server knows all that its members know.
WindowAnswer AskServer(const ServiceOptions& options, const WindowQuestion& question) {
  const auto window = OpenForLook(options, kLookWithin);
  if (!window && window.error().code == Code::kNotFound) {
    return ToldCode(window.error().message, kExitUsage);
  }
  auto seen = window ? question.server(**window) : Result<nlohmann::ordered_json>(window.error());
  if (!seen) {
    return ToldCode("`window`: " + seen.error().message, CodeOfAsked(seen.error()));
  }
  WindowAnswer answer;
  answer.by_server = true;
  answer.from.push_back(ReadFrom(options));
  answer.services.push_back(*std::move(seen));
  return answer;
}

// The service of the file, or the stores in its directory where none answers.
WindowAnswer AskServiceOrStores(const std::string& config, const ServiceOptions& options,
                                const WindowQuestion& question) {
  const std::string& socket = options.admin.socket;
  const std::string& directory = options.local.directory;
  if (socket.empty()) {
    return LookIntoStores(directory, "`admin.socket` is not set in " + config, question);
  }
  Asked asked = AskSocket(socket, question.request);
  if (asked.code == kExitNoService) {
    return LookIntoStores(directory, asked.why, question);
  }
  if (asked.code != kExitDone) {
    std::cerr << asked.why << "\n";
  }
  const bool further =
      asked.code == kExitDone && question.enough != nullptr && !question.enough(asked.result);
  return further ? LookFurther(std::move(asked), directory, question) : OfService(std::move(asked));
}

WindowAnswer AskByFile(const std::string& config, const WindowQuestion& question) {
  const Result<ServiceOptions> options = LoadService(config);
  if (!options) {
    std::cerr << options.error().message << "\n";
    WindowAnswer answer;
    answer.code = kExitUsage;
    return answer;
  }
  switch (options->engine) {
    case ServiceOptions::Engine::kNone:
    case ServiceOptions::Engine::kMemory:
      break;
    case ServiceOptions::Engine::kRocksDb:
      return AskServiceOrStores(config, *options, question);
    case ServiceOptions::Engine::kPostgres:
    case ServiceOptions::Engine::kRedis:
      return AskServer(*options, question);
  }
  return OfService(AskService({.config = config}, question.request));
}

}  // namespace

WindowAnswer AskWindow(const WindowTarget& target, const WindowQuestion& question) {
  if (!target.directory.empty()) {
    return LookIntoStores(target.directory, "", question);
  }
  return target.service.config.empty() ? OfService(AskService(target.service, question.request))
                                       : AskByFile(target.service.config, question);
}

std::string FromText(const WindowAnswer& answer) {
  std::string text;
  for (const std::string& target : answer.from) {
    text += SafeText(target) + "\n";
  }
  return text;
}

int ToldUnread(const WindowAnswer& answer) {
  int code = kExitDone;
  for (const UnreadStore& store : answer.unread) {
    std::cerr << SafeText(store.why) << "\n";
    code = store.held ? (code == kExitDone ? kExitNoService : code) : kExitFailed;
  }
  return code;
}

}  // namespace oncemq
