// Identifies this build. Processes of one run exchange bytes that only builds of the same sources read in the
// same way.
#pragma once

#include <string>

namespace shardlens {

/// "1f9c03ab52d7": a hash of all sources of the engine and the command line, the same on every machine.
const char* source_hash();

/// "shardlens 0.1.0, interface 1f9c03ab52d7, libstdc++, 12.2.0 of sources 52d71f9c03ab": equal if two
/// processes can run together.
std::string build_name();

}  // namespace shardlens
