// The function that a test's plug-in has besides its version, if it has one.
extern "C" int shardlens_test_number() {
  return 42;
}
