#include "tools/lockstitch/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace lockstitch::tool {

void setUpLog(const std::string &level, bool colour) {
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(
      colour ? spdlog::color_mode::always : spdlog::color_mode::never);
  auto logger = std::make_shared<spdlog::logger>("lockstitch", std::move(sink));
  logger->set_pattern("%^%l%$: %v");
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(std::move(logger));
}

void logDebug(const std::string &text) { spdlog::debug("{}", text); }
void logInfo(const std::string &text) { spdlog::info("{}", text); }
void logWarning(const std::string &text) { spdlog::warn("{}", text); }

} // namespace lockstitch::tool
