// The three streams a program is started with, where somebody started it without them.
#pragma once

namespace shardlens::cli {

/// Keeps the numbers of standard streams that are closed, as a daemon's are: else the next file that is
/// opened gets one, and what is printed goes into it. Printing to a closed stream still fails.
void keep_standard_streams();

}  // namespace shardlens::cli
