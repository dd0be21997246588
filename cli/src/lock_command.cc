// SPDX-License-Identifier: Apache-2.0
#include "lock_command.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string_view>

#include "exit_code.h"
#include "oncemq/base/bytes.h"
#include "oncemq/base/log.h"
#include "oncemq/locks/lock_engines.h"
#include "safe_json.h"
#include "service_commands.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

int Failed(const Error& error) {
  std::cerr << "oncemq: " << SafeText(ToString(error)) << "\n";
  return error.code == Code::kInvalid       ? kExitUsage
         : error.code == Code::kUnavailable ? kExitNoService
         : error.code == Code::kTimeout     ? kExitNoService
                                            : kExitFailed;
}

int Refused(const std::string& why) {
  std::cerr << "oncemq: " << why << "\n";
  return kExitUsage;
}

// Everybody on a host can read the arguments of a command.
bool HasPassword(std::string_view address) {
  return address.find('@') != std::string_view::npos;
}

Result<std::shared_ptr<LockEngine>> Open(const LockArguments& arguments) {
  const auto refuse = [](std::string why) {
    return Error{Code::kInvalid, Effect::kNone, std::move(why)};
  };
  if (HasPassword(arguments.at)) {
    return refuse("an address with a user in it belongs into the environment, as ONCEMQ_LOCKS");
  }
  const char* from_environment = std::getenv("ONCEMQ_LOCKS");
  const std::string at = !arguments.at.empty()         ? arguments.at
                         : from_environment != nullptr ? from_environment
                                                       : "";
  if (at.empty()) {
    return refuse("where are the locks? Say --at redis://host:port, or set ONCEMQ_LOCKS");
  }
  if (at == "memory:") {
    return refuse("locks in memory can be seen by their own process only");
  }
  return OpenLockEngine(at, arguments.space);
}

std::optional<std::string> NameOf(const LockArguments& arguments) {
  return arguments.hex ? BytesOfHex(arguments.name) : std::optional(arguments.name);
}

struct NamedPlace {
  std::shared_ptr<LockEngine> locks;
  std::string name;
};

Result<NamedPlace> OpenNamed(const LockArguments& arguments) {
  auto name = NameOf(arguments);
  if (!name) {
    return Error{Code::kInvalid, Effect::kNone, "the name is not in hex digits, two for each byte"};
  }
  auto locks = Open(arguments);
  if (!locks) {
    return locks.error();
  }
  return NamedPlace{*std::move(locks), *std::move(name)};
}

ordered_json AsJson(const LockView& view) {
  ordered_json json{{"name", view.name}, {"name_hex", HexOfBytes(view.name)}};
  json["parties"] = ordered_json::array();
  for (const LockView::Party& party : view.parties) {
    ordered_json one{{"state", party.holds ? "holds" : "waits"},
                     {"mode", ToString(party.mode)},
                     {"left_ms", party.left.count()},
                     {"who", party.who}};
    if (party.holds) {
      one["fence"] = std::to_string(party.fence.token);
    }
    json["parties"].push_back(std::move(one));
  }
  return json;
}

std::string AsText(const LockView& view) {
  std::string text;
  for (const LockView::Party& party : view.parties) {
    text += SafeText(view.name) + ": " + (party.holds ? "held" : "waited for") + ", " +
            std::string(ToString(party.mode)) + ", by " + SafeText(party.who) + ", for " +
            std::to_string(party.left.count()) + " ms more" +
            (party.holds ? ", fence " + std::to_string(party.fence.token) : "") + "\n";
  }
  return text.empty() ? SafeText(view.name) + ": nobody holds it\n" : text;
}

// As the admin socket does: a line for each change, with who asked for it.
void Audit(std::string_view command, const std::string& name, const std::string& fence,
           std::string_view result) {
  Log(LogLevel::kInfo, "admin", "change",
      {{"command", command},
       {"uid", getuid()},
       {"pid", getpid()},
       {"name", name},
       {"fence", fence},
       {"result", result}});
}

std::string YesOrNo(bool can) {
  return can ? "yes" : "no";
}

}  // namespace

int LockEnginesCommand(const LockArguments& arguments) {
  ordered_json json = ordered_json::array();
  for (const LockCapabilities& can : LockEngines()) {
    const ordered_json row{{"engine", can.engine},
                           {"processes", can.processes},
                           {"fair", can.fair},
                           {"unfair", can.unfair},
                           {"shared", can.shared},
                           {"wakes", can.wakes},
                           {"fence", can.fence},
                           {"survives_failover", can.survives_failover},
                           {"long_holds", can.long_holds}};
    json.push_back(row);
    if (!arguments.json) {
      std::string text = std::string(can.engine) + ":";
      for (const auto& [key, value] : row.items()) {
        if (value.is_boolean()) {
          text.append(" ").append(key).append(" ").append(YesOrNo(value.get<bool>())).append(",");
        }
      }
      text.back() = '\n';
      std::cout << text;
    }
  }
  if (arguments.json) {
    std::cout << SafeJson(json) << "\n";
  }
  return kExitDone;
}

int LockLsCommand(const LockArguments& arguments) {
  const auto after = arguments.hex ? BytesOfHex(arguments.after) : std::optional(arguments.after);
  if (!after) {
    return Refused("the name is not in hex digits, two for each byte");
  }
  const auto locks = Open(arguments);
  if (!locks) {
    return Failed(locks.error());
  }
  const auto names = (*locks)->Names(*after, arguments.limit);
  if (!names) {
    return Failed(names.error());
  }
  for (const std::string& name : *names) {
    const auto view = (*locks)->Look(name);
    if (!view) {
      return Failed(view.error());
    }
    if (!view->parties.empty()) {
      std::cout << (arguments.json ? SafeJson(AsJson(*view)) + "\n" : AsText(*view));
    }
  }
  if (names->size() == arguments.limit) {
    std::cerr << "there may be more: --hex --after " << HexOfBytes(names->back()) << "\n";
  }
  return kExitDone;
}

int LockShowCommand(const LockArguments& arguments) {
  const auto place = OpenNamed(arguments);
  if (!place) {
    return Failed(place.error());
  }
  const auto view = place->locks->Look(place->name);
  if (!view) {
    return Failed(view.error());
  }
  std::cout << (arguments.json ? SafeJson(AsJson(*view)) + "\n" : AsText(*view));
  return kExitDone;
}

int LockAskBackCommand(const LockArguments& arguments) {
  const auto place = OpenNamed(arguments);
  if (!place) {
    return Failed(place.error());
  }
  const auto asked = place->locks->AskBack(place->name);
  if (!asked) {
    return Failed(asked.error());
  }
  Audit("lock ask-back", place->name, "", std::to_string(*asked));
  std::cout << *asked << " asked; they hear of it when they renew\n";
  return *asked > 0 ? kExitDone : kExitFailed;
}

int LockReleaseCommand(const LockArguments& arguments) {
  const auto name = NameOf(arguments);
  const auto fence = ParseDecimal(arguments.fence);
  if (!name || !fence || *fence <= 0) {
    return Refused("release takes a name, and the fence of the hold that `lock show` prints");
  }
  const auto locks = Open(arguments);
  if (!locks) {
    return Failed(locks.error());
  }
  const auto freed = (*locks)->Evict(*name, {0, static_cast<uint64_t>(*fence)});
  const std::string said = !freed                  ? ToString(freed.error())
                           : *freed == Freed::kYes ? "released"
                                                   : "not held under this fence";
  Audit("lock release", *name, arguments.fence, said);
  if (!freed) {
    return Failed(freed.error());
  }
  std::cout << said << "\n";
  if (*freed == Freed::kYes) {
    std::cerr << "its holder learns it when it renews; until then only what checks fences is safe "
                 "from it\n";
  }
  return *freed == Freed::kYes ? kExitDone : kExitFailed;
}

}  // namespace oncemq
