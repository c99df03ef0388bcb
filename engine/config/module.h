// Parts of the engine that need what not every machine has are shared libraries beside the program, opened
// when they are asked for: without them everything else works as it does with them.
#pragma once

#include <string>

/// What a module and the program that opens it must agree on (module_version.cpp): "shardlens 0.1.0,
/// interface 1f9c03ab52d7, libstdc++". A part of every module and of the program: each answers for itself.
extern "C" __attribute__((visibility("default"))) const char* shardlens_module_version();

namespace shardlens {

/// Opens `file` (libshardlens_mpi.so), which lies beside the running program or in ../lib seen from there,
/// and returns the address of its extern "C" symbol. The module stays open until the program ends. Throws a
/// request Error, which ends with `remedy`, when the file is not there, cannot be opened (it needs a library
/// that is missing), is of another version, or has no such symbol.
void* module_symbol(const std::string& file, const std::string& symbol, const std::string& remedy);

}  // namespace shardlens
