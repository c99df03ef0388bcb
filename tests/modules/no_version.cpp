// A shared library that is no module.
extern "C" int shardlens_test_number() {
  return 42;
}
