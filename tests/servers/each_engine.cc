// SPDX-License-Identifier: Apache-2.0
#include "each_engine.h"

#include <utility>

namespace oncemq::testing {
namespace {

// A database under another scheme.
class SessionsOf final : public StormServer {
 public:
  SessionsOf(std::unique_ptr<StormServer> database, std::string scheme)
      : database_(std::move(database)), scheme_(std::move(scheme)) {}

  std::vector<uint16_t> ports() const override { return database_->ports(); }
  void Put(PlayerOptions& player, const std::vector<uint16_t>& ports) const override {
    database_->Put(player, ports);
    player.at.replace(0, player.at.find(':'), scheme_);
  }
  void Pause() override { database_->Pause(); }
  void Continue() override { database_->Continue(); }
  void Kill9() override { database_->Kill9(); }
  void Restart() override { database_->Restart(); }

 private:
  const std::unique_ptr<StormServer> database_;
  const std::string scheme_;
};

// Locks of the sessions of a database, which no storm is played over.
StormEngine OfSessions(StormEngine engine, const std::string& scheme) {
  engine.name += "_sessions";
  engine.can = {};
  engine.start = [start = engine.start, scheme](bool keeps) -> std::unique_ptr<StormServer> {
    return std::make_unique<SessionsOf>(start(keeps), scheme);
  };
  return engine;
}

}  // namespace

std::vector<StormEngine> EnginesWithAnAddress() {
  std::vector<StormEngine> engines;
  for (const StormEngine& engine : StormEngines()) {
    if (engine.name != "switched") {
      engines.push_back(engine);
    }
    if (engine.name == "postgres") {
      engines.push_back(OfSessions(engine, "postgres-advisory"));
    } else if (engine.name == "mariadb") {
      engines.push_back(OfSessions(engine, "mariadb-get-lock"));
    }
  }
  return engines;
}

}  // namespace oncemq::testing
