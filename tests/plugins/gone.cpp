// The library that the needy plug-in needs, in a folder where nobody looks for it.
extern "C" int shardlens_test_gone() {
  return 1;
}
