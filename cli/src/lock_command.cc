// SPDX-License-Identifier: Apache-2.0
#include "lock_command.h"

#include <iostream>
#include <memory>
#include <optional>
#include <string_view>

#include "audit.h"
#include "exit_code.h"
#include "lock_spaces.h"
#include "lock_target.h"
#include "oncemq/base/bytes.h"
#include "oncemq/base/fence_text.h"
#include "oncemq/locks/election.h"
#include "oncemq/locks/lock_engines.h"
#include "safe_json.h"
#include "service_commands.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

int Refused(const std::string& why) {
  std::cerr << "oncemq: " << why << "\n";
  return kExitUsage;
}

// Checked here, so that no store is opened for a name that none can have.
Result<std::string> NameOf(const LockArguments& arguments) {
  auto name = arguments.hex ? BytesOfHex(arguments.name) : std::optional(arguments.name);
  if (!name) {
    return Error{Code::kInvalid, Effect::kNone, "the name is not in hex digits, two for each byte"};
  }
  if (name->empty() || name->size() > kLongestLockName) {
    return Error{Code::kInvalid, Effect::kNone,
                 "the name of a lock has 1 to " + std::to_string(kLongestLockName) +
                     " bytes, not " + std::to_string(name->size())};
  }
  return *std::move(name);
}

struct NamedTarget {
  std::shared_ptr<LockEngine> locks;
  std::string name;
};

Result<NamedTarget> OpenNamed(const LockArguments& arguments) {
  auto name = NameOf(arguments);
  if (!name) {
    return name.error();
  }
  auto locks = OpenLocksOf(arguments);
  if (!locks) {
    return locks.error();
  }
  return NamedTarget{*std::move(locks), *std::move(name)};
}

// What failed may have been done all the same.
Result<size_t> Recall(const NamedTarget& target, std::string_view command) {
  return Audited(
      command, target.name, "", [&] { return target.locks->Recall(target.name); },
      [](const auto& recalled) {
        return recalled ? std::to_string(*recalled) + " asked" : ToString(recalled.error());
      });
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
      one["fence"] = ToString(party.fence);
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
            (!party.fence.empty() ? ", fence " + ToString(party.fence) : "") + "\n";
  }
  return text;
}

// What is in another space is not seen here.
std::string WithSpace(std::string_view said, const LockArguments& arguments) {
  const auto by_name = LocksByCatalogue(arguments);
  const std::string where = by_name && *by_name ? "" : " in the space '" + arguments.space + "'";
  return std::string(said) + SafeText(where) + "\n";
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
                           {"reentrant", LockCapabilities::kReentrant},
                           {"counted", can.counted},
                           {"wakes", can.wakes},
                           {"fence", can.fence},
                           {"survives_failover", can.survives_failover},
                           {"long_holds", can.long_holds},
                           {"seals", can.seals},
                           {"lists", can.lists},
                           {"epochs", can.epochs},
                           {"longest_lease_ms", can.longest_lease.count()}};
    json.push_back(row);
    if (!arguments.json) {
      std::string text = std::string(can.engine) + ":";
      for (const auto& [key, value] : row.items()) {
        if (value.is_boolean()) {
          text.append(" ").append(key).append(" ").append(YesOrNo(value.get<bool>())).append(",");
        }
      }
      text.append(" leases up to ")
          .append(std::to_string(can.longest_lease.count()))
          .append(" ms ");
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
  if (const auto spaces = NamedSpaces(arguments); !spaces) {
    std::cerr << spaces.error().message << "\n";  // a line for each mistake of a file
    return kExitUsage;
  } else if (*spaces) {
    return PrintSpaces(**spaces, *after, arguments);
  }
  const auto locks = OpenLocksOf(arguments);
  if (!locks) {
    return LockFailed(locks.error());
  }
  const auto names = (*locks)->Names(*after, arguments.limit);
  if (!names) {
    return LockFailed(names.error());
  }
  if (names->empty()) {
    std::cerr << WithSpace("no names", arguments) << HintOfSpaces(arguments);
  }
  int exit = kExitDone;
  for (const std::string& name : *names) {
    const auto view = (*locks)->Read(name);
    if (!view && view.error().code == Code::kCorrupt) {
      // One that somebody else has written hides no other.
      std::cerr << SafeText(name) << ": ";
      exit = LockFailed(view.error());
      continue;
    }
    if (!view) {
      return LockFailed(view.error());
    }
    if (!view->parties.empty()) {
      std::cout << (arguments.json ? SafeJson(AsJson(*view)) + "\n" : AsText(*view));
    }
  }
  if (names->size() == arguments.limit) {
    std::cerr << "there may be more: --hex --after " << HexOfBytes(names->back()) << "\n";
  }
  return exit;
}

int LockShowCommand(const LockArguments& arguments) {
  const auto target = OpenNamed(arguments);
  if (!target) {
    return LockFailed(target.error());
  }
  const auto view = target->locks->Read(target->name);
  if (!view) {
    return LockFailed(view.error());
  }
  if (arguments.json) {
    std::cout << SafeJson(AsJson(*view)) << "\n";
  } else if (view->parties.empty()) {
    std::cout << SafeText(view->name) << ": " << WithSpace("nobody holds it", arguments);
  } else {
    std::cout << AsText(*view);
  }
  return kExitDone;
}

int LockRecallCommand(const LockArguments& arguments) {
  const auto target = OpenNamed(arguments);
  if (!target) {
    return LockFailed(target.error());
  }
  const auto recalled = Recall(*target, "lock ask-back");
  if (!recalled) {
    return LockFailed(recalled.error());
  }
  std::cout << *recalled << " asked; they hear of it when they renew\n";
  return *recalled > 0 ? kExitDone : kExitFailed;
}

int LockReleaseCommand(const LockArguments& arguments) {
  const auto name = NameOf(arguments);
  const auto fence = ParseFence(arguments.fence);
  if (!name) {
    return LockFailed(name.error());
  }
  if (!fence || fence->empty()) {
    return Refused("release takes a name, and the fence of the hold that `lock show` prints");
  }
  const auto locks = OpenLocksOf(arguments);
  if (!locks) {
    return LockFailed(locks.error());
  }
  const auto said = [&](const Result<Freed>& done) -> std::string {
    return !done                  ? ToString(done.error())
           : *done == Freed::kYes ? "released"
           : !(*locks)->capabilities().fence
               ? "nothing was released: without fences, which not every store there has, no hold "
                 "can be named"
               : "not held under this fence";
  };
  const auto freed = Audited(
      "lock release", *name, arguments.fence, [&] { return (*locks)->Evict(*name, *fence); }, said);
  if (!freed) {
    return LockFailed(freed.error());
  }
  if (*freed != Freed::kYes) {
    std::cout << WithSpace(said(freed), arguments);
    return kExitFailed;
  }
  std::cout << said(freed) << "\n";
  std::cerr << "its holder learns it when it renews; until then only what checks fences is safe "
               "from it\n";
  return kExitDone;
}

int LockElectionCommand(const LockArguments& arguments) {
  const auto target = OpenNamed(arguments);
  if (!target) {
    return LockFailed(target.error());
  }
  const auto leader = LeaderOf(*target->locks, target->name);
  const auto view = target->locks->Read(target->name);
  if (!leader || !view) {
    return LockFailed(!leader ? leader.error() : view.error());
  }
  if (arguments.resign) {
    if (const auto recalled = Recall(*target, "lock election --resign"); !recalled) {
      return LockFailed(recalled.error());
    }
  }
  ordered_json json{{"name", view->name}, {"name_hex", HexOfBytes(view->name)}};
  json["leader"] = nullptr;
  if (*leader) {
    json["leader"] = {{"who", (*leader)->who},
                      {"fence", ToString((*leader)->fence)},
                      {"left_ms", (*leader)->left.count()}};
  }
  json["standing_by"] = ordered_json::array();
  for (const LockView::Party& party : view->parties) {
    if (!party.holds) {
      json["standing_by"].push_back(party.who);
    }
  }
  if (arguments.json) {
    std::cout << SafeJson(json) << "\n";
  } else if (*leader) {
    std::cout << SafeText((*leader)->who) << " leads, fence " << ToString((*leader)->fence) << "; "
              << json["standing_by"].size() << " standing by"
              << (arguments.resign ? "; it was asked to resign" : "") << "\n";
  } else {
    std::cout << "nobody leads\n";
  }
  return *leader ? kExitDone : kExitFailed;
}

}  // namespace oncemq
