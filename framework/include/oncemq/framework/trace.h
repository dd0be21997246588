// SPDX-License-Identifier: Apache-2.0
// TraceContext: the trace of a message, by the W3C's recommendation, for the calls of its handler.
//
//   httplib::Headers headers;
//   if (const oncemq::TraceContext trace = context.trace(); trace) {
//     headers.emplace("traceparent", trace.parent);
//     headers.emplace("tracestate", trace.state);
//   }
//
// **Promise:** both are printable ASCII, so neither can add a header. A malformed `traceparent`
// counts as none.
//
// **Limits:** no span is started here. The last one of several headers with one name counts.
//
// **Thread safety:** a view of the message, valid as long as it is.
#pragma once

#include <string_view>

namespace oncemq {

class Message;

struct TraceContext {
  std::string_view parent = {};  // 00-<trace id>-<parent id>-<flags>
  std::string_view state = {};   // of the vendors; may be empty

  explicit operator bool() const { return !parent.empty(); }
  // 32 hex digits. Empty: there is none.
  std::string_view id() const { return parent.substr(parent.empty() ? 0 : 3, 32); }
};

TraceContext TraceOf(const Message& message);

}  // namespace oncemq
