// The library that the needy plug-in needs. It is in a folder that is not searched.
extern "C" int shardlens_test_gone() {
  return 1;
}
