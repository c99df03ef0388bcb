// A plug-in that needs a library which cannot be found.
extern "C" int shardlens_test_gone();

extern "C" int shardlens_test_number() {
  return shardlens_test_gone();
}
