// SPDX-License-Identifier: Apache-2.0
// Where the process that holds a store can be asked: a file of the store, with the path of its
// admin socket. A help for whoever finds the store held; no promise rests on it.
#pragma once

#include <string>

namespace oncemq {

// For the holder. Empty: what a former holder has left is taken away.
void WriteAdminSocket(const std::string& directory, const std::string& socket);

}  // namespace oncemq
