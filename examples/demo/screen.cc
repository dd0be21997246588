// SPDX-License-Identifier: Apache-2.0
#include "screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace oncemq::demo {
namespace {

bool IsSet(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool CanRedraw() {
  const char* kind = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && kind != nullptr && std::string_view(kind) != "dumb";
}

// What fits on one line of the terminal: a wrapped one can't be redrawn.
std::string_view Fitting(std::string_view text) {
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return text.substr(0, known ? size.ws_col - 1u : 79u);
}

constexpr std::string_view kEraseLine = "\r\x1b[K";

}  // namespace

Screen::Screen() : terminal_(CanRedraw()), color_(terminal_ && !IsSet("NO_COLOR")) {}

void Screen::Draw(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void Screen::Line(std::string_view text) {
  std::string out(terminal_ && !live_.empty() ? kEraseLine : "");
  out += text;
  out += '\n';
  Draw(out);
  live_.clear();
  drawn_.clear();
}

void Screen::Live(std::string_view text) {
  live_ = text;
  const BootTime now = SystemClock::Instance().Boot();
  const milliseconds pause(terminal_ ? 100 : 1'000);
  if (live_ == drawn_ || now - drawn_at_ < pause) {
    return;
  }
  drawn_ = live_;
  drawn_at_ = now;
  Draw(terminal_ ? std::string(kEraseLine).append(Fitting(live_)) : live_ + "\n");
}

void Screen::Settle() {
  if (live_.empty() || (!terminal_ && live_ == drawn_)) {
    live_.clear();
    return;
  }
  const std::string text = live_;
  Line(text);
}

std::string Screen::Mark(bool ok) const {
  const std::string word = ok ? "OK" : "FAILED";
  return color_ ? (ok ? "\x1b[32m" : "\x1b[31m") + word + "\x1b[0m" : word;
}

std::string Bar(double share) {
  constexpr size_t kPlaces = 20;
  const auto full = static_cast<size_t>(std::clamp(share, 0.0, 1.0) * double{kPlaces});
  return std::string(full, '#') + std::string(kPlaces - full, '-');
}

}  // namespace oncemq::demo
