// SPDX-License-Identifier: Apache-2.0
// DoneMarkers: markers of finished ids of one partition as columns of one INSERT, in the order of
// their digests: two batches that insert the same ids never wait for each other (rule 48).
//
// Thread safety: immutable after Sort().
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "oncemq/clients/sql_session.h"
#include "oncemq/dedup/window.h"

namespace oncemq {

class DoneMarkers {
 public:
  explicit DoneMarkers(size_t size) { rows_.reserve(size); }
  // Digest and result outlive this.
  void Add(std::string_view digest, const Coordinates& at, const Token& token, uint32_t fingerprint,
           LogTime time, std::string_view result);
  // An added id is parked under this number, and its parked row goes first.
  void Unpark(std::string_view digest, uint64_t entry);
  // After the last one.
  void Sort();

  bool empty() const { return rows_.empty(); }
  bool unparks() const { return !parked_.empty(); }
  // For `unpark`. Valid as long as this.
  std::vector<SqlValue> Unparks(int64_t scope) const;
  // For `insert_done`, but for its last values. Valid as long as this.
  std::vector<SqlValue> Inserts(int64_t scope) const;
  // For `finish_done`.
  std::vector<SqlValue> Finishes(int64_t scope) const;

 private:
  struct Row {
    std::string_view digest;
    std::array<char, 16> token;
    std::string_view result;
    int64_t offset;
    int64_t fingerprint;
    int64_t time;
  };
  std::vector<Row> rows_;
  std::vector<std::pair<std::string_view, int64_t>> parked_;
  std::vector<std::string_view> parked_digests_;
  std::vector<int64_t> entries_;
  Coordinates at_;  // its partition
  std::vector<std::string_view> digests_;
  std::vector<std::string_view> tokens_;
  std::vector<std::string_view> results_;
  std::vector<int64_t> offsets_;
  std::vector<int64_t> times_;
  std::vector<int64_t> fingerprints_;
};

}  // namespace oncemq
