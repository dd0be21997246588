// SPDX-License-Identifier: Apache-2.0
// MetricsWriter: samples in, the text that Prometheus scrapes out. There is no registry: a scrape
// makes a writer, fills it from the counters of oncemq, and drops it.
//
//   MetricsWriter writer;
//   WriteGateMetrics(gate->counts(), "payments", writer);
//   response.set_content(writer.Text(), MetricsWriter::kContentType);
//
// **Promise:** bytes outside of UTF-8 in a label value become U+FFFD, so that no name spoils a
// scrape.
//
// **Thread safety:** none.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oncemq/base/latency_histogram.h"
#include "oncemq/metrics/metric_def.h"

namespace oncemq {

struct MetricsWriterOptions {
  // On each sample, before the labels of its row.
  std::vector<std::pair<std::string_view, std::string>> labels;
  // A label to leave out, such as the partition. Samples that differ in nothing else become one, by
  // MetricDef::fold.
  std::string_view without;
};

class MetricsWriter {
 public:
  static constexpr char kContentType[] = "text/plain; version=0.0.4; charset=utf-8";

  explicit MetricsWriter(MetricsWriterOptions options = {});
  ~MetricsWriter();
  MetricsWriter(const MetricsWriter&) = delete;
  MetricsWriter& operator=(const MetricsWriter&) = delete;

  // As many values as the row has labels. The row outlives the writer.
  void Set(const MetricDef& metric, std::initializer_list<std::string_view> values, double value);
  void Set(const MetricDef& metric, std::initializer_list<std::string_view> values,
           const LatencySnapshot& latency);

  // In the order of the first samples.
  std::string Text() const;

 private:
  struct Families;
  MetricsWriterOptions options_;
  std::unique_ptr<Families> families_;
};

}  // namespace oncemq
