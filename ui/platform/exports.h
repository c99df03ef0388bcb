// Where files go that a person asks for. They are written to the folder where the studio was started. A page
// has made one for them, and what comes to lie there leaves it as a download.
#pragma once

#include <string>

namespace shardlens {

/// The end of a sentence about a file: "written to the folder where the studio was started".
const char* where_exports_go();
/// What would help if one cannot be written, as a sentence.
const char* remedy_for_exports();

/// Where a training's checkpoints go that are written to `folder`.
std::string where_checkpoints_go(const std::string& folder);

}  // namespace shardlens
