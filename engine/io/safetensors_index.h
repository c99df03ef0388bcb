// The index of a model in several safetensors files, as Hugging Face writes it: model.safetensors.index.json
// says which file holds each tensor.
#pragma once

#include <map>
#include <set>
#include <string>

namespace shardlens {

/// The tensors of each file ("model-00001-of-00003.safetensors"), by name. Reads the index at `path`. Throws
/// a request Error that names it if it is no index, or if a file in it is not a plain name in the same
/// folder.
std::map<std::string, std::set<std::string>> read_safetensors_index(const std::string& path);

/// "model.safetensors.index.json" for "model.safetensors".
std::string index_path(const std::string& path);

/// "model-00002-of-00003.safetensors" for number 2 of 3 of "model.safetensors".
std::string shard_path(const std::string& path, size_t number, size_t count);

/// True for the name of a file that write_sharded_safetensors() may write for `name`, with any number of
/// shards.
bool is_written_for(const std::string& name, const std::string& file);

/// Where the tensors of `path` are: the file itself, or its index if only that exists.
std::string file_or_index(const std::string& path);

}  // namespace shardlens
