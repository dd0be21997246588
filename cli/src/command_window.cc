// SPDX-License-Identifier: Apache-2.0
#include "command_window.h"

#include <utility>

#ifdef ONCEMQ_WITH_POSTGRES
#include "oncemq/framework/service_postgres.h"
#else
#include "service_window.h"
#endif

namespace oncemq {

Result<std::unique_ptr<Window>> OpenCommandWindow(const ServiceOptions& options) {
#ifdef ONCEMQ_WITH_POSTGRES
  return OpenPostgresServiceWindow(options);
#else
  return OpenServiceWindow(options);
#endif
}

Result<std::unique_ptr<Window>> OpenToCheck(ServiceOptions options) {
  options.postgres.look_only = true;
  return OpenCommandWindow(options);
}

Result<std::unique_ptr<Window>> OpenForLook(ServiceOptions options, milliseconds call) {
  options.postgres.call = call;
  options.postgres.check_rights = false;
  return OpenToCheck(std::move(options));
}

}  // namespace oncemq
