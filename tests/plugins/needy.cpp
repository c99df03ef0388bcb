// A plug-in that needs a library which is nowhere to be found.
extern "C" int shardlens_test_gone();

extern "C" int shardlens_test_number() {
  return shardlens_test_gone();
}
