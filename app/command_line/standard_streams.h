// The three standard streams of a program that was started without them.
#pragma once

namespace shardlens::cli {

/// Opens /dev/null in place of closed standard streams, as a daemon has. Otherwise the next opened file would
/// get such a number, and printed text would go into it. Printing to a closed stream still fails.
void keep_standard_streams();

}  // namespace shardlens::cli
