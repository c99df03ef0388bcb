// Prints messages and errors.
#include "app/command_line/messages.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/shown.h"
#include "engine/io/file_problem.h"

namespace shardlens::cli {
namespace {

const char* program_name = "shardlens";

}  // namespace

int exit_code_of(const std::exception& error) {
  if (dynamic_cast<const std::filesystem::filesystem_error*>(&error) != nullptr) return kWrongRequest;
  const auto* known = dynamic_cast<const Error*>(&error);
  return known != nullptr && known->kind() == ErrorKind::Request ? kWrongRequest : kFailedRun;
}

void set_program_name(const char* name) {
  program_name = name;
}

void say(const std::string& sentence) {
  std::fputs(fmt::format("{}: {}\n", program_name, message_text(sentence)).c_str(), stderr);  // closed or not
}

void say(const std::exception& error) {
  say(message_of(error));
}

}  // namespace shardlens::cli
