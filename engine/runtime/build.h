// Which build this is. Processes of one run pass bytes to each other that only the same sources read alike.
#pragma once

#include <string>

namespace shardlens {

/// "1f9c03ab52d7": of all sources of the engine and the command line, the same wherever they are built.
const char* source_hash();

/// "shardlens 0.1.0, interface 1f9c03ab52d7, libstdc++, 12.2.0 of sources 52d71f9c03ab": equal where two
/// processes can run together.
std::string build_name();

}  // namespace shardlens
