// SPDX-License-Identifier: Apache-2.0
// ContentsOf: named fields of a Protobuf message as the contents of an operation. A header to copy.
//
//   auto contents = ContentsOf(payment, {"account", "cents"});
//
// A field that was never set has its default. Elements of a repeated field stand by their index;
// messages are their deterministic bytes. kInvalid: the message has no such field, or it is a map,
// whose entries have no order.
//
// Thread safety: any thread, as long as nobody changes the message.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "oncemq/base/result.h"
#include "oncemq/gate/contents.h"

inline std::string DeterministicBytes(const google::protobuf::Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&out);
  }
  return bytes;
}

// `index`: of an element; -1: the field is not repeated.
inline oncemq::Contents::Value ValueOf(const google::protobuf::Message& message,
                                       const google::protobuf::FieldDescriptor& field, int index) {
  using Field = google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const auto of = [&](auto single, auto repeated) {
    return index < 0 ? (reflection.*single)(message, &field)
                     : (reflection.*repeated)(message, &field, index);
  };
  using Reflection = google::protobuf::Reflection;
  switch (field.cpp_type()) {
    case Field::CPPTYPE_INT32:
      return int64_t{of(&Reflection::GetInt32, &Reflection::GetRepeatedInt32)};
    case Field::CPPTYPE_INT64:
      return int64_t{of(&Reflection::GetInt64, &Reflection::GetRepeatedInt64)};
    case Field::CPPTYPE_UINT32:
      return int64_t{of(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32)};
    case Field::CPPTYPE_UINT64:  // as text: it may be larger than an int64_t
      return std::to_string(of(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64));
    case Field::CPPTYPE_DOUBLE:
      return of(&Reflection::GetDouble, &Reflection::GetRepeatedDouble);
    case Field::CPPTYPE_FLOAT:
      return double{of(&Reflection::GetFloat, &Reflection::GetRepeatedFloat)};
    case Field::CPPTYPE_BOOL:
      return of(&Reflection::GetBool, &Reflection::GetRepeatedBool);
    case Field::CPPTYPE_ENUM:
      return int64_t{of(&Reflection::GetEnumValue, &Reflection::GetRepeatedEnumValue)};
    case Field::CPPTYPE_STRING:
      return of(&Reflection::GetString, &Reflection::GetRepeatedString);
    case Field::CPPTYPE_MESSAGE:
      break;
  }
  return DeterministicBytes(index < 0 ? reflection.GetMessage(message, &field)
                                      : reflection.GetRepeatedMessage(message, &field, index));
}

inline oncemq::Result<oncemq::Contents> ContentsOf(const google::protobuf::Message& message,
                                                   std::initializer_list<std::string_view> names) {
  oncemq::Contents::Fields fields;
  for (const std::string_view name : names) {
    const auto* field = message.GetDescriptor()->FindFieldByName(std::string(name));
    if (field == nullptr || field->is_map()) {
      return oncemq::Error{oncemq::Code::kInvalid, oncemq::Effect::kNone,
                           message.GetDescriptor()->full_name() + " has no field `" +
                               std::string(name) + "`, or it is a map"};
    }
    if (!field->is_repeated()) {
      fields[std::string(name)] = ValueOf(message, *field, -1);
      continue;
    }
    const int size = message.GetReflection()->FieldSize(message, field);
    fields[std::string(name) + "[]"] = int64_t{size};
    for (int i = 0; i < size; i++) {
      fields[std::string(name) + "[" + std::to_string(i) + "]"] = ValueOf(message, *field, i);
    }
  }
  return oncemq::Contents::OfFields(fields);
}
