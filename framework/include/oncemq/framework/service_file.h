// SPDX-License-Identifier: Apache-2.0
// Reads a service's options from a YAML file (cli/service.yaml shows every key).
//
// Promise: strict. Unknown and repeated keys, wrong types, values out of range and combinations
// that cannot keep their promise are errors. All are told at once, each as "service.yaml:12:5: what
// is wrong", one a line.
//
// `${NAME}` and `${NAME:default}` in a value are variables of the environment. `${file:/path}`,
// where a secret may stand, is the content of a file that only its owner may read; in the address
// of a store it is read again after the server has refused the login. A value from outside is never
// read as YAML. A relative path is taken from the folder of the service file; not so those of
// `${file:...}` and of the client's own properties.
//
// Thread safety: any thread; the environment must not change meanwhile.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/result.h"
#include "oncemq/framework/service_options.h"

namespace oncemq {

// Where `${...}` finds its values.
struct ConfigSources {
  std::function<std::optional<std::string>(const std::string& name)> variable;
  std::function<Result<std::string>(const std::string& path)> secret_file;
};

// One line of an error, in fields.
struct FileMistake {
  int line = 0;  // 0 for the file as a whole
  int column = 0;
  std::string key{};  // "kafka.group", or empty for no single key
  std::string text{};
};

// This process's environment and files.
ConfigSources ProcessSources();

// `file_name` is what errors call it, and its folder is that of relative paths. All errors are
// kInvalid.
Result<ServiceOptions> ParseService(std::string_view yaml, std::string_view file_name,
                                    const ConfigSources& sources = ProcessSources());

// kNotFound when there is no such file.
Result<ServiceOptions> LoadService(const std::string& path);

// The reasons of LoadService() to refuse the text of a file, in the same order.
std::vector<FileMistake> MistakesIn(const std::string& path);

// Only `admin:`. Secrets and variables of other sections need not be there, nor be right.
Result<AdminOptions> LoadAdmin(const std::string& path);

}  // namespace oncemq
