// Checks the character map of a SentencePiece model. SentencePiece looks characters up in it without asking
// whether it is sound, so that a damaged map makes it read outside its memory.
#pragma once

#include <string>
#include <string_view>

namespace shardlens {

/// Accepts `map` if no text can lead a lookup outside it. `map` is the value of "precompiled_charsmap": the
/// length in bytes of a trie (32 bits), the trie as a double array of Darts-clone, then the texts that
/// characters become, each ended by a NUL. Throws a request Error that begins with `where` otherwise.
void require_sound_character_map(std::string_view map, const std::string& where);

}  // namespace shardlens
