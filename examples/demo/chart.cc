// SPDX-License-Identifier: Apache-2.0
#include "chart.h"

#include <algorithm>

#include "markup.h"
#include "words.h"

namespace oncemq::demo {
namespace {

constexpr int64_t kWidth = 900;
constexpr int64_t kHeight = 250;
constexpr int64_t kLeft = 56;     // of the bars; figures stand before it
constexpr int64_t kTop = 46;      // marks are named above it
constexpr int64_t kBottom = 214;  // seconds stand below it

int64_t X(int64_t at_ms, const ChartScale& scale) {
  return kLeft + (kWidth - kLeft - 8) * at_ms / (static_cast<int64_t>(scale.steps) * kStepMs);
}

int64_t HeightOf(int64_t count, const ChartScale& scale) {
  return (kBottom - kTop) * count / scale.most;
}

std::string Number(std::string_view name, int64_t value) {
  return std::string(name) + "=\"" + std::to_string(value) + "\" ";
}

std::string Rectangle(int64_t x, int64_t y, int64_t width, int64_t height, std::string_view kind) {
  return "<rect " + Number("x", x) + Number("y", y) + Number("width", width) +
         Number("height", height) + "class=\"" + std::string(kind) + "\"/>";
}

std::string Text(int64_t x, int64_t y, std::string_view text, std::string_view anchor) {
  return Element("text", text,
                 Number("x", x) + Number("y", y) + "text-anchor=\"" + std::string(anchor) + "\"");
}

std::string Line(int64_t x1, int64_t y1, int64_t x2, int64_t y2, std::string_view kind) {
  return "<line " + Number("x1", x1) + Number("y1", y1) + Number("x2", x2) + Number("y2", y2) +
         "class=\"" + std::string(kind) + "\"/>";
}

std::string Seconds(int64_t ms) {
  return std::to_string(ms / 1'000) + "." + std::to_string(ms % 1'000 / 100) + " s";
}

std::string Bar(size_t index, const Step& step, const ChartWords& words, const ChartScale& scale) {
  const int64_t begin = static_cast<int64_t>(index) * kStepMs;
  const int64_t x = X(begin, scale) + 1;
  const int64_t width = std::max<int64_t>(X(begin + kStepMs, scale) - x, 1);
  const int64_t effects = HeightOf(step.effects, scale);
  // A single one must be seen too.
  const int64_t others = step.others > 0 ? std::max<int64_t>(HeightOf(step.others, scale), 2) : 0;
  const std::string text = Seconds(begin) + ": " + Grouped(step.effects) + " " +
                           std::string(words.effects) + ", " + Grouped(step.others) + " " +
                           std::string(words.others);
  return "<g>" + Element("title", text) +
         Rectangle(x, kBottom - effects, width, effects, "effects") +
         Rectangle(x, kBottom - effects - others, width, others, "others") + "</g>\n";
}

std::string Axes(const ChartScale& scale) {
  std::string out;
  for (const int64_t part : {0, 1, 2}) {
    const int64_t count = scale.most * part / 2;
    const int64_t y = kBottom - HeightOf(count, scale);
    out += Line(kLeft, y, kWidth - 8, y, "grid") + Text(kLeft - 6, y + 4, Grouped(count), "end");
  }
  const int64_t end = static_cast<int64_t>(scale.steps) * kStepMs;
  for (int64_t at = 0; at <= end; at += 5'000) {
    out += Text(X(at, scale), kBottom + 16, std::to_string(at / 1'000) + " s", "middle");
  }
  return out + "\n";
}

// Names stand in two rows in turn, so that neighbours don't cover each other.
std::string Marks(const Timeline& timeline, const ChartScale& scale) {
  std::string out;
  int64_t row = 0;
  for (const Mark& mark : timeline.marks) {
    const int64_t x = X(mark.at_ms, scale);
    const int64_t y = 16 + 16 * (row++ % 2);
    out += "<g class=\"" + std::string(mark.kill ? "kill" : "mark") + "\">" +
           Line(x, y + 4, x, kBottom, "at") +
           Text(x, y, mark.text + ", " + Seconds(mark.at_ms), "middle") + "</g>\n";
  }
  return out;
}

}  // namespace

ChartScale ScaleOf(const Timeline& one, const Timeline& other) {
  ChartScale scale;
  for (const Timeline* timeline : {&one, &other}) {
    scale.steps = std::max(scale.steps, timeline->steps.size());
    for (const Step& step : timeline->steps) {
      scale.most = std::max(scale.most, step.effects + step.others);
    }
  }
  scale.most = (scale.most + 199) / 200 * 200;  // so that half of it is a round figure too
  return scale;
}

std::string Chart(const Timeline& timeline, const ChartWords& words, const ChartScale& scale) {
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " +
                    std::to_string(kWidth) + " " + std::to_string(kHeight) + "\" role=\"img\">\n";
  out += Element("title", words.title) + "\n" + Axes(scale);
  for (size_t i = 0; i < timeline.steps.size(); ++i) {
    out += Bar(i, timeline.steps[i], words, scale);
  }
  out += Marks(timeline, scale);
  const Step total = TotalOf(timeline.steps);
  const int64_t y = kHeight - 6;
  out += Rectangle(kLeft, y - 10, 12, 10, "effects") +
         Text(kLeft + 18, y, Grouped(total.effects) + " " + std::string(words.effects), "start");
  out += Rectangle(kLeft + 240, y - 10, 12, 10, "others") +
         Text(kLeft + 258, y, Grouped(total.others) + " " + std::string(words.others), "start");
  return out + "\n</svg>\n";
}

}  // namespace oncemq::demo
