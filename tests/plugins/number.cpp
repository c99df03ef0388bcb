// What a test's plug-in has beside its version, if it has one.
extern "C" int shardlens_test_number() {
  return 42;
}
