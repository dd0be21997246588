// SPDX-License-Identifier: Apache-2.0
// What lies in etcd for locks (docs/formats.md). Total: any bytes give a value or "no".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "oncemq/locks/lock_engine.h"

namespace oncemq {

// Keys keep the order of the bytes of names, and no name's keys begin with those of another.
class EtcdLockKeys {
 public:
  explicit EtcdLockKeys(std::string_view space);

  const std::string& seal() const { return seal_; }
  // Before all keys of all names.
  const std::string& names() const { return names_; }
  // Before all keys of this name.
  std::string Queue(std::string_view name) const;
  // Before those of its writers.
  std::string Writers(std::string_view name) const;
  std::string Request(std::string_view name, LockMode mode, const Token& token) const;
  std::string Session(int64_t lease) const;

  std::optional<std::string> NameOf(std::string_view key) const;

 private:
  const std::string names_;
  const std::string seal_;
  const std::string sessions_;
};

// What the last bytes of a key say; none if it is no request.
std::optional<LockMode> EtcdModeOf(std::string_view key);

// The value of a request.
struct EtcdRequest {
  bool back = false;  // somebody asks for it
  uint32_t epoch = 0;
  milliseconds lease{0};
  milliseconds queue_lease{0};
  std::string who;
};
std::string BytesOf(const EtcdRequest& requested);
std::optional<EtcdRequest> EtcdRequestOf(std::string_view bytes);

}  // namespace oncemq
