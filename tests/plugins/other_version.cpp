// The version of a different build from the program's.
extern "C" const char* shardlens_plugin_version() {
  return "shardlens 0.0.9";
}
