// A page's own address, and what it was told about files.
#include <emscripten/emscripten.h>
#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "engine/base/error.h"
#include "ui/platform/address.h"

namespace shardlens {
namespace {

// Both return memory that the caller frees.
EM_JS(char*, own_address, (), { return stringToNewUTF8(Module.own_address()); });
EM_JS(char*, address_in_page, (const char* path),
      { return stringToNewUTF8(Module.addresses.get(UTF8ToString(path)) || ""); });

std::string taken(char* text) {
  std::string out = text;
  std::free(text);
  return out;
}

/// As in the query of an address. What need not be escaped is not: people read it.
std::string escaped(const std::string& word) {
  std::string out;
  for (const char c : word) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                          std::string("-_=.:,/@").find(c) != std::string::npos;
    if (c == ' ')
      out += '+';
    else if (is_plain)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace

std::string address_of(const std::vector<std::string>& words) {
  std::string address = taken(own_address());
  char before = '?';
  for (const std::string& word : words) {
    address += before + escaped(word.starts_with("--") ? word.substr(2) : word);
    before = '&';
  }
  return address;
}

const char* name_of_addresses() {
  return "Link";
}

std::string address_of_file(const std::string& path) {
  std::string address = taken(address_in_page(path.c_str()));
  if (address.empty())
    throw request_error(fmt::format(
        "{} is only on this machine, and a link cannot bring it along. Put it on a web host and open it by "
        "its address (?recording=https://…, ?lesson=https://…), or make a page that has it inside: "
        "shardlens-cli page",
        std::filesystem::path(path).filename().string()));
  return address;
}

}  // namespace shardlens
