// The version of another build than the program's.
extern "C" const char* shardlens_plugin_version() {
  return "shardlens 0.0.9";
}
