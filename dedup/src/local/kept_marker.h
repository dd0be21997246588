// SPDX-License-Identifier: Apache-2.0
// The row of a marker that does not age and must outlive the process: parked, open at the opaque
// level, or with a count of failed attempts. Its key is the id. Decoding is total.
//
// Thread safety: none needed, values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "../marker_table.h"

namespace oncemq {

std::string EncodeKept(const Marker& marker);
// Times are not kept: they are of a clock that is gone.
std::optional<Marker> DecodeKept(std::string_view row);

}  // namespace oncemq
