// SPDX-License-Identifier: Apache-2.0
#include "query_window.h"

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
#include "oncemq/dedup/store_reader.h"
#endif

namespace oncemq {
namespace {

constexpr char kByService[] = "# By the service that runs at ";
constexpr char kReadFrom[] = "# Read from the directory ";
constexpr milliseconds kReadWithin{60'000};  // many ids take their time to be counted

WindowAnswer ReportWindowError(const std::string& text, int code) {
  std::cerr << SafeText(text) << "\n";
  WindowAnswer answer;
  answer.code = code;
  return answer;
}

WindowAnswer OfService(ServiceAnswer reply) {
  WindowAnswer answer;
  answer.code = reply.code;
  answer.from.push_back(kByService + reply.socket);
  answer.services.push_back(std::move(reply.result));
  return answer;
}

#ifdef ONCEMQ_WITH_ROCKSDB

// Of the stores in a directory, those that are held and those that are free.
class StoresOf {
 public:
  // `unasked`: why no running service was asked; empty: nobody named one.
  StoresOf(const WindowQuestion& question, std::string not_queried)
      : question_(question), not_queried_(std::move(not_queried)) {}

  // What a service has said already.
  void Add(ServiceAnswer reply) {
    answer_.from.push_back(kByService + reply.socket);
    answer_.services.push_back(std::move(reply.result));
    queried_[std::filesystem::absolute(reply.socket)] = "";
  }

  WindowAnswer Answer(const std::string& directory, const std::vector<std::string>& stores) && {
    for (const std::string& store : stores) {
      ReadStore(store);
    }
    if (!answer_.stores.empty() || answer_.services.empty()) {
      answer_.from.push_back(kReadFrom + directory +
                             (not_queried_.empty() ? "" : ", since " + not_queried_));
    }
    return std::move(answer_);
  }

 private:
  void ReadStore(const std::string& store) {
    const auto opened = StoreReader::Open(store, SystemClock::Instance());
    auto seen = opened ? question_.store(**opened) : Result<nlohmann::ordered_json>(opened.error());
    if (seen) {
      answer_.stores.push_back(*std::move(seen));
    } else if (seen.error().code == Code::kUnavailable) {
      QueryHolder(store, seen.error().message);
    } else {
      answer_.unread.push_back({store, seen.error().message});
    }
  }

  // One service holds many stores, and tells of all of them at once.
  void QueryHolder(const std::string& store, const std::string& held) {
    const std::string socket = AdminSocketOf(store);
    std::string cannot = not_queried_;
    if (!socket.empty()) {
      const auto [known, first] = queried_.try_emplace(socket);
      if (first) {
        ServiceAnswer reply = QuerySocket(socket, question_.request);
        if (reply.code == kExitDone) {
          Add(std::move(reply));
        } else {
          known->second = std::move(reply.why);
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
  const std::string not_queried_;
  WindowAnswer answer_;
  std::map<std::string, std::string> queried_;  // sockets, and why there was no answer
};

WindowAnswer ReadStores(const std::string& directory, const std::string& not_queried,
                        const WindowQuestion& question) {
  const std::vector<std::string> stores = FindStores(directory);
  if (stores.empty()) {
    return ReportWindowError(
        (not_queried.empty() ? "" : not_queried + "; ") + directory +
            ": no store of a window lies there, nor in <partition> or <topic>/<partition> below it",
        kExitUsage);
  }
  return StoresOf(question, not_queried).Answer(directory, stores);
}

// Other members of its group may hold stores beside its own, or nobody does.
WindowAnswer AddStores(ServiceAnswer reply, const std::string& directory,
                       const WindowQuestion& question) {
  StoresOf of(question, "");
  of.Add(std::move(reply));
  return std::move(of).Answer(directory, FindStores(directory));
}

#else

WindowAnswer ReadStores(const std::string& directory, const std::string&, const WindowQuestion&) {
  return ReportWindowError(
      directory + ": this build has no window on disk (ONCEMQ_WITH_ROCKSDB=OFF)", kExitUsage);
}

WindowAnswer AddStores(ServiceAnswer reply, const std::string&, const WindowQuestion&) {
  return OfService(std::move(reply));
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
WindowAnswer QueryServer(const ServiceOptions& options, const WindowQuestion& question) {
  const auto window = OpenToRead(options, kReadWithin);
  if (!window && window.error().code == Code::kNotFound) {
    return ReportWindowError(window.error().message, kExitUsage);
  }
  auto seen = window ? question.server(**window) : Result<nlohmann::ordered_json>(window.error());
  if (!seen) {
    return ReportWindowError("`window`: " + seen.error().message, ExitCodeOfQuery(seen.error()));
  }
  WindowAnswer answer;
  answer.by_server = true;
  answer.from.push_back(ReadFrom(options));
  answer.services.push_back(*std::move(seen));
  return answer;
}

// The service of the file, or the stores in its directory where none answers.
WindowAnswer QueryServiceOrStores(const std::string& config, const ServiceOptions& options,
                                  const WindowQuestion& question) {
  const std::string& socket = options.admin.socket;
  const std::string& directory = options.local.directory;
  if (socket.empty()) {
    return ReadStores(directory, "`admin.socket` is not set in " + config, question);
  }
  ServiceAnswer reply = QuerySocket(socket, question.request);
  if (reply.code == kExitNoService) {
    return ReadStores(directory, reply.why, question);
  }
  if (reply.code != kExitDone) {
    std::cerr << reply.why << "\n";
  }
  const bool further =
      reply.code == kExitDone && question.enough != nullptr && !question.enough(reply.result);
  return further ? AddStores(std::move(reply), directory, question) : OfService(std::move(reply));
}

WindowAnswer QueryByFile(const std::string& config, const WindowQuestion& question) {
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
      return QueryServiceOrStores(config, *options, question);
    case ServiceOptions::Engine::kPostgres:
    case ServiceOptions::Engine::kRedis:
      return QueryServer(*options, question);
  }
  return OfService(QueryService({.config = config}, question.request));
}

}  // namespace

WindowAnswer QueryWindow(const WindowTarget& target, const WindowQuestion& question) {
  if (!target.directory.empty()) {
    return ReadStores(target.directory, "", question);
  }
  return target.service.config.empty() ? OfService(QueryService(target.service, question.request))
                                       : QueryByFile(target.service.config, question);
}

std::string FromText(const WindowAnswer& answer) {
  std::string text;
  for (const std::string& target : answer.from) {
    text += SafeText(target) + "\n";
  }
  return text;
}

int ReportUnread(const WindowAnswer& answer) {
  int code = kExitDone;
  for (const UnreadStore& store : answer.unread) {
    std::cerr << SafeText(store.why) << "\n";
    code = store.held ? (code == kExitDone ? kExitNoService : code) : kExitFailed;
  }
  return code;
}

}  // namespace oncemq
