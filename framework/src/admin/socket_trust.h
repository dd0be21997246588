// SPDX-License-Identifier: Apache-2.0
// Whom both ends of an admin socket believe: root, and the service's own user.
//
// Thread safety: pure functions.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

namespace oncemq {

// Whether somebody else than `user` and root may take a name of `user` away in this directory, or
// has the directory itself. In a sticky one only the owner of a name may, and that of the
// directory.
inline bool OthersMayReplaceIn(const struct stat& folder, uid_t user) {
  const bool ours = folder.st_uid == user || folder.st_uid == 0;
  const bool writable = (folder.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  return !ours || (writable && (folder.st_mode & S_ISVTX) == 0);
}

// Whether `user` may believe what `server` says at a socket in this directory: itself and root.
// Root asks the services of others too: each in a directory that is the service's own, where nobody
// else can have put its socket.
inline bool MayTrust(uid_t server, uid_t user, const struct stat& folder) {
  if (server == user || server == 0) {
    return true;
  }
  const bool its_own = folder.st_uid == server && (folder.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return user == 0 && its_own;
}

}  // namespace oncemq
