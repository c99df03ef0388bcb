// The hash that Shardlens had before XXH3. New code uses hash64() (engine/io/hash.h). This function stays for
// values that another version wrote, or will read, and that do not name their algorithm:
//   training.json    checksums of older checkpoints (engine/runtime/checksum.h)
//   token files      the footer's hash and the tokenizer's fingerprint. A checkpoint holds both, and a run
//                    goes on only if its text and tokenizer still give the same values
//   FILE-live        the check of its record: a studio of one version watches a run of another
//   the gallery      the folder of an unpacked piece, in which a person's notes may be
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardlens {

uint64_t hash_of_version_1(const void* data, size_t bytes);

}  // namespace shardlens
