// SPDX-License-Identifier: Apache-2.0
#include "doctor_command.h"

#include <filesystem>
#include <iostream>
#include <utility>

#include "doctor_part.h"
#include "oncemq/base/log.h"
#include "oncemq/framework/broker_metadata.h"
#include "oncemq/framework/service_file.h"
#include "oncemq/framework/service_locks.h"
#include "safe_json.h"
#include "service_window.h"
#ifdef ONCEMQ_WITH_ROCKSDB
#include "oncemq/dedup/store_reader.h"
#endif

namespace oncemq {
namespace {

constexpr milliseconds kBrokersWithin{5'000};

// Of the directory, or of the next one above that is there.
void AddFreeSpace(std::filesystem::path directory, DoctorPart& part) {
  std::error_code failed;
  while (!std::filesystem::exists(directory, failed) && directory.has_relative_path()) {
    directory = directory.parent_path();
  }
  const auto space = std::filesystem::space(directory, failed);
  if (failed) {
    part.facts["free"] = {{"why", failed.message()}};
  } else {
    part.facts["free_bytes"] = space.available;
  }
}

// No claims: its stores are for the process that holds them.
void DescribeDirectory(const ServiceOptions& options, DoctorPart& part) {
  const LocalWindowOptions& local = options.local;
  part.at = local.directory;
  if (const Status usable = CheckServiceWindow(options); !usable) {
    FailPart(part, usable.error());
  }
  std::error_code failed;
  part.facts["directory_made"] = std::filesystem::exists(local.directory, failed);
#ifdef ONCEMQ_WITH_ROCKSDB
  part.facts["stores"] = FindStores(local.directory).size();
#endif
  AddFreeSpace(local.directory, part);
  if (local.sync == SyncWhen::kNever) {
    part.lowers.emplace_back("a loss of power takes what is not on the disk yet (`sync: never`)");
  }
  if (!options.runtime.one_host) {
    part.lowers.emplace_back("a partition that moves to another host leaves its window behind");
  }
}

// Hides user and password.
std::string HostsOf(std::string_view address) {
  const size_t scheme = address.find("://");
  const size_t at = address.rfind('@');
  if (at == std::string_view::npos) {
    return std::string(address);
  }
  return std::string(scheme < at ? address.substr(0, scheme + 3) : "") +
         std::string(address.substr(at + 1));
}

}  // namespace

DoctorPart DiagnoseWindow(const ServiceOptions& options) {
  DoctorPart part{.name = "window", .at = std::string(ToString(options.engine))};
  switch (options.engine) {
    case ServiceOptions::Engine::kNone:
      part.lowers.emplace_back("nothing is suppressed: each delivery runs");
      break;
    case ServiceOptions::Engine::kMemory:
      part.facts["remember_ids"] = options.memory.remember;
      part.lowers.emplace_back("the window ends with its process");
      break;
    case ServiceOptions::Engine::kRocksDb:
      DescribeDirectory(options, part);
      break;
    case ServiceOptions::Engine::kPostgres:
#ifdef ONCEMQ_WITH_POSTGRES
      QueryPostgres(options, part);
#endif
      break;
    case ServiceOptions::Engine::kRedis:
#ifdef ONCEMQ_WITH_REDIS
      QueryRedis(options, part);
#endif
      break;
  }
  return part;
}

DoctorPart DiagnoseKafka(const RuntimeOptions& options) {
  DoctorPart part{.name = "kafka", .at = options.kafka.brokers};
  const auto metadata = QueryMetadata(options, kBrokersWithin);
  if (!metadata) {
    FailPart(part, metadata.error());
    return part;
  }
  part.facts["brokers"] = metadata->brokers;
  part.facts["metadata"] = {{"answer_us", metadata->answer_in.count()}};
  part.facts["partitions"] = nlohmann::ordered_json::object();
  for (const TopicMetadata& topic : metadata->topics) {
    part.facts["partitions"][topic.name] = topic.partitions;
    if (!topic.wrong.empty()) {
      FailPart(part, kExitFailed, "topic " + topic.name + ": " + topic.wrong);
    }
  }
  return part;
}

// Opening a store may make its tables, or begin a switch record: so none is asked.
DoctorPart DiagnoseLocks(const ServiceOptions& options) {
  const ServiceLocks& locks = options.locks;
  DoctorPart part{.name = "locks"};
  part.facts["elided"] = options.runtime.locks.elided;
  if (!locks.any()) {
    return part;
  }
  if (locks.catalogue.empty()) {
    part.at = HostsOf(locks.at);
    part.facts["space"] = locks.space;
  } else {
    part.at = locks.catalogue;
    part.facts["application"] = locks.application;
  }
  if (const Status usable = CheckServiceLocks(options); !usable) {
    FailPart(part, usable.error());
    return part;
  }
  const auto can = ServiceLockCapabilities(locks);
  part.facts["asked"] = false;
  if (can && !can->fence) {
    part.lowers.emplace_back("holds have no fences");
  }
  return part;
}

int DoctorCommand(const DoctorArguments& arguments) {
  if (arguments.config.empty()) {
    std::cerr << "which service file? Say oncemq doctor FILE\n";
    return kExitUsage;
  }
  const Result<ServiceOptions> options = LoadService(arguments.config);
  if (!options) {
    std::cerr << options.error().message << "\n";
    return kExitUsage;
  }
  StartLogging({.level = LogLevel::kOff});  // each part says its own failure
  std::vector<DoctorPart> parts;
  parts.push_back(DiagnoseWindow(*options));
  parts.push_back(DiagnoseKafka(options->runtime));
  parts.push_back(DiagnoseLocks(*options));
  StopLogging();
  std::cout << (arguments.json ? SafeJson(DoctorJson(arguments.config, parts)) + "\n"
                               : DoctorText(parts));
  return CodeOfParts(parts);
}

}  // namespace oncemq
