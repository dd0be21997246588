// SPDX-License-Identifier: Apache-2.0
// What every bench shares: a stopwatch, medians, and the report: one JSON object per line, and a
// table for people.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace oncemq::bench {

// Seconds of this thread's processor time: what others do on the machine stays out, but for the
// caches they share.
inline double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// Seconds of the whole process, its librdkafka threads included, without its children.
inline double ProcessSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

inline double WallSeconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// The value behind `--name`, or nothing.
inline std::optional<std::string> Argument(int argc, char** argv, const char* name) {
  for (int i = 1; i + 1 < argc; i++) {
    if (std::strcmp(argv[i], name) == 0) {
      return argv[i + 1];
    }
  }
  return std::nullopt;
}

inline bool HasFlag(int argc, char** argv, const char* name) {
  return std::any_of(argv + 1, argv + argc,
                     [&](const char* argument) { return std::strcmp(argument, name) == 0; });
}

class Report {
 public:
  Report(std::string bench, int argc, char** argv) : bench_(std::move(bench)) {
    if (const auto path = Argument(argc, argv, "--out")) {
      out_ = std::fopen(path->c_str(), "a");
      if (out_ == nullptr) {
        std::perror(path->c_str());
        std::exit(1);
      }
    }
  }
  ~Report() {
    if (out_ != nullptr) {
      std::fclose(out_);
    }
  }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  // Value and floor measured in turn: the median of each, and the median of the ratios pair by
  // pair. `cpu_ns`: processor time of a message, where a bench measures it apart.
  void AddPairs(const std::string& name, const std::vector<double>& values, const char* unit,
                const std::vector<double>& floors, const std::vector<double>& cpu_ns = {}) {
    std::vector<double> ratios;
    for (size_t i = 0; i < values.size(); i++) {
      ratios.push_back(values[i] / floors[i]);
    }
    Write(name, Median(values), unit, Median(floors), Median(ratios), cpu_ns);
  }

  // `floor` is what the value is compared with, measured in the same run or a stated bound; ratio =
  // value / floor.
  void Add(const std::string& name, double value, const char* unit, double floor) {
    const bool is_cpu = std::strcmp(unit, "ns/msg") == 0;
    Write(name, value, unit, floor, floor == 0 ? 0 : value / floor,
          is_cpu ? std::vector<double>{value} : std::vector<double>{});
  }

 private:
  void Write(const std::string& name, double value, const char* unit, double floor, double ratio,
             const std::vector<double>& cpu_ns) {
    std::printf("%-18s %-36s %12.1f %-8s floor %12.1f  ratio %5.2f\n", bench_.c_str(), name.c_str(),
                value, unit, floor, ratio);
    std::fflush(stdout);
    if (out_ != nullptr) {
      std::fprintf(out_,
                   "{\"bench\":\"%s\",\"case\":\"%s\",\"value\":%.3f,\"unit\":\"%s\","
                   "\"floor\":%.3f,\"ratio\":%.4f,\"cpu_ns\":%s}\n",
                   bench_.c_str(), name.c_str(), value, unit, floor, ratio,
                   cpu_ns.empty() ? "null" : std::to_string(Median(cpu_ns)).c_str());
      std::fflush(out_);
    }
  }

  std::string bench_;
  std::FILE* out_ = nullptr;
};

}  // namespace oncemq::bench
