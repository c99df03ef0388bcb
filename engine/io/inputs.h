// The files that this program has opened to read. An output never replaces one of them. They are known by
// device and inode, so no other name, no link and no hard link hides one.
#pragma once

#include <string>

namespace shardlens {

/// Notes an open regular file as an input. Every reader of a file that a person names calls it. May be called
/// from any thread; never throws.
void note_input(int file) noexcept;
/// The same for a file that a library opens by its path.
void note_input(const std::string& path) noexcept;

/// True if the file at `path`, or the one that a link there leads to, was noted.
bool is_input(const std::string& path);

}  // namespace shardlens
