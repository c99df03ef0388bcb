// Recordings of the gallery that are not in the program. Those of a page may lie beside it on a web host
// (shardlens-cli page --site).
#pragma once

#include <string>

namespace shardlens {

bool is_beside(const std::string& name);
/// Begins to fetch one. The studio opens it when it has come, as if it had been dropped, or says why it has
/// not.
void fetch_from_beside(const std::string& name);

}  // namespace shardlens
