// SPDX-License-Identifier: Apache-2.0
#include "chart.h"

#include <algorithm>
#include <vector>

#include "markup.h"
#include "words.h"

namespace oncemq::demo {
namespace {

constexpr int64_t kWidth = 900;
constexpr int64_t kHeight = 250;
constexpr int64_t kLeft = 56;  // of the bars; the figures are on its left
constexpr int64_t kTop = 46;   // the names of the marks are above it
constexpr int64_t kLineHeight = 15;
constexpr int64_t kBottom = 214;  // the seconds are below it

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

std::string TimeOf(const Wait& wait) {
  return Seconds(wait.end_ms - wait.begin_ms);
}

// A wait that is shorter than a bar leaves no gap between the bars.
bool IsSeen(const Wait& wait) {
  return wait.end_ms - wait.begin_ms >= kStepMs;
}

// Drawn before the bars, so that these stay whole.
std::string Shades(const Timeline& timeline, const ChartScale& scale) {
  std::string out;
  for (const Wait& wait : timeline.waits) {
    if (IsSeen(wait)) {
      const int64_t x = X(wait.begin_ms, scale);
      out += "<g class=\"wait\">" + Element("title", wait.reason + ": " + TimeOf(wait)) +
             Rectangle(x, kTop, X(wait.end_ms, scale) - x, kBottom - kTop, "shade") + "</g>\n";
    }
  }
  return out;
}

// Drawn after the bars, as lines that fit into the shade.
std::string WaitLabels(const Timeline& timeline, const ChartScale& scale) {
  constexpr int64_t kLetter = 7;          // wide, about
  constexpr int64_t kFewestColumns = 14;  // then a label is wider than its shade
  std::string out;
  for (const Wait& wait : timeline.waits) {
    if (!IsSeen(wait)) {
      continue;
    }
    const int64_t begin = X(wait.begin_ms, scale);
    const int64_t end = X(wait.end_ms, scale);
    const int64_t columns = std::max((end - begin) / kLetter, kFewestColumns);
    std::vector<std::string> lines = Wrapped(wait.reason + ":", static_cast<size_t>(columns));
    lines.push_back(TimeOf(wait));
    int64_t y = kTop;
    out += "<g class=\"wait\">";
    for (const std::string& line : lines) {
      out += Text((begin + end) / 2, y += kLineHeight, line, "middle");
    }
    out += "</g>\n";
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
  out += Element("title", words.title) + "\n" + Shades(timeline, scale) + Axes(scale);
  for (size_t i = 0; i < timeline.steps.size(); ++i) {
    out += Bar(i, timeline.steps[i], words, scale);
  }
  out += WaitLabels(timeline, scale) + Marks(timeline, scale);
  const Step total = TotalOf(timeline.steps);
  const int64_t y = kHeight - 6;
  out += Rectangle(kLeft, y - 10, 12, 10, "effects") +
         Text(kLeft + 18, y, Grouped(total.effects) + " " + std::string(words.effects), "start");
  out += Rectangle(kLeft + 300, y - 10, 12, 10, "others") +
         Text(kLeft + 318, y, Grouped(total.others) + " " + std::string(words.others), "start");
  return out + "\n</svg>\n";
}

}  // namespace oncemq::demo
