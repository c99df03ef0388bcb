// A module of another build than the program's.
extern "C" const char* shardlens_module_version() {
  return "shardlens 0.0.9";
}

extern "C" int shardlens_test_number() {
  return 42;
}
