// Where others find what is shown here. A page has an address, which anybody can open; a program has a
// command line.
#pragma once

#include <string>
#include <vector>

namespace shardlens {

/// What a person sends to others: `words` are options of the studio, in words of its command line.
std::string address_of(const std::vector<std::string>& words);

/// "Link" or "Command": what address_of() makes.
const char* name_of_addresses();

/// Where a file is, as an option would name it. Throws a request Error if others cannot get it there.
std::string address_of_file(const std::string& path);

}  // namespace shardlens
