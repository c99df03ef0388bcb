// What is thrown when memory runs out. The library's own exception has no words that help anybody.
#pragma once

namespace shardlens::cli {

/// From now on a failed `new` throws a std::bad_alloc whose what() says how much memory this process holds,
/// how much it may have, and what would work.
void explain_lack_of_memory();

}  // namespace shardlens::cli
