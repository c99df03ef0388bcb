// A page shows no folders of the machine that it is on: the browser asks a person for files.
#pragma once

namespace shardlens {

bool has_file_dialog();
/// Asks for files with these endings, ".shardlens,.md". They come as dropped ones do.
void ask_for_files(const char* endings);

}  // namespace shardlens
