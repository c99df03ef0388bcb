// A program's command line, as a shell reads it.
#include <algorithm>
#include <cctype>
#include <filesystem>

#include "ui/platform/address.h"

namespace shardlens {
namespace {

std::string quoted_for_shell(const std::string& word) {
  const bool is_plain = std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string("-_=.:,/+@%").find(static_cast<char>(c)) != std::string::npos;
  });
  if (is_plain) return word;
  std::string quoted = "'";
  for (const char c : word) c == '\'' ? quoted += "'\\''" : quoted += c;
  return quoted + "'";
}

}  // namespace

std::string address_of(const std::vector<std::string>& words) {
  std::string command = "shardlens";
  for (const std::string& word : words) command += " " + quoted_for_shell(word);
  return command;
}

const char* name_of_addresses() {
  return "Command";
}

std::string address_of_file(const std::string& path) {
  return std::filesystem::absolute(path).string();
}

}  // namespace shardlens
