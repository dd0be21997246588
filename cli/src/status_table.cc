// SPDX-License-Identifier: Apache-2.0
#include "status_table.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

namespace oncemq {
namespace {

constexpr int64_t kBarPlaces = 10;
constexpr size_t kFewestRows = 3;
constexpr std::string_view kLag = "lag";
constexpr std::string_view kBetween = "  ";

bool IsNumeric(std::string_view cell) {
  return cell.find_first_not_of("-?0123456789") == std::string_view::npos;
}

std::string UpperCase(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

std::string_view ColorOf(Mood mood) {
  return mood == Mood::kBad ? "\x1b[31m" : mood == Mood::kHeld ? "\x1b[33m" : "\x1b[32m";
}

std::string Colored(const std::string& text, Mood mood, bool color) {
  return color ? std::string(ColorOf(mood)) + text + "\x1b[0m" : text;
}

// Cells of one width, with the bar as a column of its own.
class Layout {
 public:
  Layout(const StatusTable& table, const std::vector<const StatusRow*>& rows) : table_(table) {
    int64_t largest = 0;
    for (const StatusRow* row : rows) {
      largest = std::max(largest, row->lag.value_or(0));
    }
    for (const std::string& column : table.columns) {
      AddColumn(UpperCase(column), column == kLag);
    }
    for (const StatusRow* row : rows) {
      AddRow(*row, largest);
    }
  }

  std::string Line(size_t row) const {
    std::string line;
    for (size_t i = 0; i < columns_.size(); i++) {
      const Column& column = columns_[i];
      const std::string& cell = column.cells[row];
      const std::string room(column.width - cell.size(), ' ');
      line += i == 0 ? "" : kBetween;
      line += column.right ? room + cell : cell + room;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  }

 private:
  struct Column {
    std::vector<std::string> cells;
    size_t width = 0;
    bool right = true;
    void Add(std::string cell) {
      width = std::max(width, cell.size());
      right = right && (cells.empty() || IsNumeric(cell));
      cells.push_back(std::move(cell));
    }
  };

  void AddColumn(std::string name, bool bar) {
    columns_.emplace_back().Add(std::move(name));
    if (bar) {
      columns_.emplace_back().Add("");
    }
  }
  void AddRow(const StatusRow& row, int64_t largest) {
    size_t to = 0;
    for (size_t i = 0; i < table_.columns.size(); i++) {
      columns_[to++].Add(i < row.cells.size() ? row.cells[i] : "");
      if (table_.columns[i] == kLag) {
        columns_[to++].Add(row.lag ? LagBar(*row.lag, largest) : "");
      }
    }
  }

  const StatusTable& table_;
  std::vector<Column> columns_;
};

// In their order.
std::vector<const StatusRow*> RowsFor(const StatusTable& table, size_t room) {
  std::vector<const StatusRow*> rows;
  for (const StatusRow& row : table.rows) {
    rows.push_back(&row);
  }
  if (rows.size() > room) {
    std::ranges::stable_sort(rows, std::greater(), [](const StatusRow* row) {
      return std::pair(row->mood, row->lag.value_or(0));
    });
    rows.resize(room);
    std::ranges::sort(rows);  // all are parts of one vector
  }
  return rows;
}

}  // namespace

std::string LagBar(int64_t lag, int64_t largest) {
  const int64_t most = std::max<int64_t>(largest, 1);
  const double share =
      static_cast<double>(std::clamp<int64_t>(lag, 0, most)) / static_cast<double>(most);
  const int64_t full =
      std::max<int64_t>(static_cast<int64_t>(share * double{kBarPlaces}), lag > 0 ? 1 : 0);
  return std::string(static_cast<size_t>(full), '#') +
         std::string(static_cast<size_t>(kBarPlaces - full), '.');
}

std::string TableText(const StatusTable& table, const TableLook& look) {
  // Names of the columns, the line about further rows, and the cursor's line.
  const size_t taken = table.head.size() + table.alarms.size() + 3;
  const size_t room = look.height == 0
                          ? table.rows.size()
                          : std::max(kFewestRows, look.height - std::min(look.height, taken));
  const std::vector<const StatusRow*> rows = RowsFor(table, room);
  std::string out;
  const auto add = [&](const std::string& line, std::optional<Mood> mood = std::nullopt) {
    const std::string fitting = look.width == 0 ? line : line.substr(0, look.width);
    out += (mood ? Colored(fitting, *mood, look.color) : fitting) + "\n";
  };
  std::ranges::for_each(table.head, [&](const std::string& line) { add(line); });
  if (!rows.empty()) {
    const Layout layout(table, rows);
    add(layout.Line(0));
    for (size_t i = 0; i < rows.size(); i++) {
      add(layout.Line(i + 1), rows[i]->mood);
    }
  }
  if (rows.size() < table.rows.size()) {
    add("and " + std::to_string(table.rows.size() - rows.size()) + " partitions with less lag");
  }
  for (const std::string& line : table.alarms) {
    add(line, Mood::kBad);
  }
  return out;
}

std::vector<std::string> TableLines(const StatusTable& table) {
  std::vector<std::string> lines = table.head;
  for (const StatusRow& row : table.rows) {
    std::string line = row.cells.empty() ? "?" : row.cells.front();
    for (size_t i = 1; i < std::min(row.cells.size(), table.columns.size()); i++) {
      if (!row.cells[i].empty()) {
        line += (i == 1 ? ": " : ", ") + table.columns[i] + " " + row.cells[i];
      }
    }
    lines.push_back(std::move(line));
  }
  for (const std::string& line : table.alarms) {
    lines.push_back(line);
  }
  return lines;
}

}  // namespace oncemq
