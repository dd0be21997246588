// SPDX-License-Identifier: Apache-2.0
// AdminListener: a socket file for its owner alone, from its first moment on.
//
// **Promise:** It replaces the socket of a dead process, and never a live one, a file of another
// kind, or the target of a link. Two processes that open one name at the same time do not take it
// from each other.
//
// **Failure:** kInvalid, kUnavailable. A killed process leaves its file to the next one.
//
// Thread safety: none.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "oncemq/base/result.h"
#include "owned_fd.h"

namespace oncemq {

class AdminListener {
 public:
  static Result<std::unique_ptr<AdminListener>> Open(const std::string& path);
  // Whether Open() could succeed now. Makes its folder, and no socket.
  static Status CheckFree(const std::string& path);
  // Removes the file if it is still the one that was made.
  ~AdminListener();
  AdminListener(const AdminListener&) = delete;
  AdminListener& operator=(const AdminListener&) = delete;

  // Listens, and blocks.
  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }

 private:
  AdminListener(OwnedFd fd, std::string path, dev_t device, ino_t inode)
      : fd_(std::move(fd)), path_(std::move(path)), device_(device), inode_(inode) {}

  const OwnedFd fd_;
  const std::string path_;
  const dev_t device_;  // with the inode: which file is ours
  const ino_t inode_;
};

}  // namespace oncemq
