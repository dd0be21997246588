// SPDX-License-Identifier: Apache-2.0
#include "oncemq/metrics/metrics_writer.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <limits>
#include <map>

#include "oncemq/base/check.h"
#include "oncemq/base/utf8.h"

namespace oncemq {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricType TypeOf(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return MetricType::Counter;
    case MetricKind::kGauge:
      return MetricType::Gauge;
    case MetricKind::kHistogram:
      break;
  }
  return MetricType::Histogram;
}

void Fold(MetricFold fold, double value, double& into) {
  into = fold == MetricFold::kMax ? std::max(into, value) : into + value;
}

double InSeconds(microseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::vector<ClientMetric::Label> LabelsOf(const MetricsWriterOptions& options,
                                          const MetricDef& metric,
                                          std::initializer_list<std::string_view> values) {
  std::vector<ClientMetric::Label> labels;
  for (const auto& [name, value] : options.labels) {
    labels.push_back({std::string(name), ValidUtf8(value)});
  }
  const auto* value = values.begin();
  for (const std::string_view name : metric.labels) {
    if (name.empty()) {
      break;
    }
    ONCEMQ_CHECK(value != values.end(), "each label of a metric has a value");
    if (name != options.without) {
      labels.push_back({std::string(name), ValidUtf8(*value)});
    }
    value++;
  }
  ONCEMQ_CHECK(value == values.end(), "a metric has no more values than labels");
  return labels;
}

}  // namespace

struct MetricsWriter::Families {
  struct Of {
    size_t place = 0;
    std::map<std::vector<ClientMetric::Label>, size_t> samples;
  };

  // The sample of these labels, made at its first use.
  ClientMetric& Find(const MetricDef& metric, std::vector<ClientMetric::Label> labels, bool& made) {
    const auto [family, first] = of.try_emplace(metric.name);
    if (first) {
      family->second.place = all.size();
      all.push_back({std::string(metric.name), std::string(metric.help), TypeOf(metric.kind), {}});
    }
    std::vector<ClientMetric>& samples = all[family->second.place].metric;
    const auto [sample, is_new] = family->second.samples.try_emplace(labels, samples.size());
    made = is_new;
    if (is_new) {
      samples.emplace_back().label = std::move(labels);
    }
    return samples[sample->second];
  }

  std::map<std::string_view, Of> of;
  std::vector<MetricFamily> all;
};

MetricsWriter::MetricsWriter(MetricsWriterOptions options)
    : options_(std::move(options)), families_(std::make_unique<Families>()) {}

MetricsWriter::~MetricsWriter() = default;

void MetricsWriter::Set(const MetricDef& metric, std::initializer_list<std::string_view> values,
                        double value) {
  ONCEMQ_CHECK(metric.kind != MetricKind::kHistogram, "a histogram takes a snapshot");
  bool made = false;
  ClientMetric& sample = families_->Find(metric, LabelsOf(options_, metric, values), made);
  double& into = metric.kind == MetricKind::kCounter ? sample.counter.value : sample.gauge.value;
  made ? void(into = value) : Fold(metric.fold, value, into);
}

void MetricsWriter::Set(const MetricDef& metric, std::initializer_list<std::string_view> values,
                        const LatencySnapshot& latency) {
  ONCEMQ_CHECK(metric.kind == MetricKind::kHistogram, "only a histogram takes a snapshot");
  bool made = false;
  ClientMetric::Histogram& into =
      families_->Find(metric, LabelsOf(options_, metric, values), made).histogram;
  uint64_t below = 0;
  into.bucket.resize(latency.counts.size());
  for (size_t i = 0; i < latency.counts.size(); i++) {
    const bool bounded = i < kLatencyBounds.size();
    below += latency.counts[i];
    into.bucket[i].cumulative_count += below;
    into.bucket[i].upper_bound =
        bounded ? InSeconds(kLatencyBounds[i]) : std::numeric_limits<double>::infinity();
  }
  into.sample_count += below;
  into.sample_sum += InSeconds(latency.sum);
}

std::string MetricsWriter::Text() const {
  return prometheus::TextSerializer().Serialize(families_->all);
}

}  // namespace oncemq
