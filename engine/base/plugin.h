// Opens plug-ins: parts of the engine that need software that not every machine has. They are shared
// libraries beside the program, opened on first use. Without them, everything else works in the same way.
#pragma once

#include <string>

/// Returns what a plug-in and the program that opens it must agree on (plugin_version.cpp): "shardlens 0.1.0,
/// interface 1f9c03ab52d7, libstdc++". It is compiled into every plug-in and into the program, so each
/// reports its own.
extern "C" __attribute__((visibility("default"))) const char* shardlens_plugin_version();

namespace shardlens {

/// Opens a library by its path or, where the system looks for libraries, by its name, so that plug-ins that
/// need it find it open. Returns false if it cannot.
bool open_library(const std::string& path);

/// Opens `file` (for example libshardlens_mpi.so), which must be in the folder of the running program or in
/// ../lib from there. Returns the address of its extern "C" symbol. The plug-in stays open until the program
/// ends. Throws a request Error, which ends with `remedy`, if the file is not there, is damaged, cannot be
/// opened (it needs a library that is missing), is of another version, or has no such symbol.
void* plugin_symbol(const std::string& file, const std::string& symbol, const std::string& remedy);

}  // namespace shardlens
