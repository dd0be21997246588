// SPDX-License-Identifier: Apache-2.0
#include "prometheus_server.h"

#include <httplib.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "eventually.h"

namespace oncemq::testing {
namespace {

constexpr std::chrono::seconds kPrometheusStarts{40};

constexpr char kConfig[] = R"(global:
  scrape_interval: 1s
  scrape_timeout: 1s
  evaluation_interval: 1s
rule_files: [rules.yml]
scrape_configs:
  - job_name: oncemq
    file_sd_configs:
      - files: [targets.json]
        refresh_interval: 1s
)";

std::string FileText(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

}  // namespace

std::optional<std::string> PrometheusServer::Missing() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((std::filesystem::path(folder) / "prometheus").c_str(), X_OK) == 0) {
      return std::nullopt;
    }
  }
  return "there is no Prometheus (package prometheus)";
}

std::unique_ptr<PrometheusServer> PrometheusServer::Start(const std::string& rules) {
  std::unique_ptr<PrometheusServer> server(new PrometheusServer());
  const std::filesystem::path dir = server->dir_.path();
  std::ofstream(dir / "prometheus.yml") << kConfig;
  std::ofstream(dir / "rules.yml") << (rules.empty() ? "groups: []\n" : rules);
  server->Scrape({});
  server->process_ = std::make_unique<Process>(
      ProcessOptions{.command = {"prometheus", "--config.file=" + (dir / "prometheus.yml").string(),
                                 "--storage.tsdb.path=" + (dir / "data").string(),
                                 "--web.listen-address=" + server->port_.address()},
                     .log_file = dir / "server.log"});
  const auto answers = [&] {
    const auto ready = httplib::Client("127.0.0.1", server->port_.number()).Get("/-/ready");
    return ready && ready->status == 200;
  };
  Process& process = *server->process_;
  if (!Eventually(kPrometheusStarts, [&] { return !process.Running() || answers(); }) ||
      !process.Running()) {
    throw std::runtime_error("Prometheus does not start: " + FileText(dir / "server.log"));
  }
  return server;
}

// It watches the folder, so the file is replaced as a whole.
void PrometheusServer::Scrape(const std::vector<std::string>& targets) {
  const std::filesystem::path file = dir_.path() / "targets.json";
  std::ofstream(file.string() + ".new") << nlohmann::json::array({{{"targets", targets}}});
  std::filesystem::rename(file.string() + ".new", file);
}

std::string PrometheusServer::Get(const std::string& path) const {
  const auto answer = httplib::Client("127.0.0.1", port_.number()).Get(path);
  if (!answer || answer->status != 200) {
    throw std::runtime_error("Prometheus refuses " + path + ": " +
                             (answer ? answer->body : httplib::to_string(answer.error())));
  }
  return answer->body;
}

std::vector<PrometheusSample> PrometheusServer::Query(const std::string& expression) const {
  const auto answer = nlohmann::json::parse(
      Get("/api/v1/query?" + httplib::detail::params_to_query_str({{"query", expression}})));
  std::vector<PrometheusSample> samples;
  for (const auto& one : answer["data"]["result"]) {
    samples.push_back({one["metric"].get<std::map<std::string, std::string>>(),
                       std::stod(one["value"][1].get<std::string>())});
  }
  return samples;
}

std::set<std::string> PrometheusServer::Firing() const {
  std::set<std::string> names;
  const auto answer = nlohmann::json::parse(Get("/api/v1/alerts"));
  for (const auto& alert : answer["data"]["alerts"]) {
    if (alert["state"] == "firing") {
      names.insert(alert["labels"]["alertname"]);
    }
  }
  return names;
}

}  // namespace oncemq::testing
