// What a module and its program must agree on, compiled into both of them. They pass C++ objects to each
// other, and one that lays them out differently, or means something else by them, would read what is not
// there: so all that can be told of that is compared, and nothing else.
//
// The interface is a hash (cmake/module_interface.cmake), not a number that somebody has to remember to
// change: of the headers in which those objects are declared, and of the sources that both sides compile,
// since ranges of shards worked out in two ways are as wrong as two layouts. Not of all sources, as between
// the processes of a run (engine/runtime/build.h): a module with a kernel mended goes with the program that
// is there.
//
// Of the compiler it is what it makes of those objects. g++ and clang++ lay out classes and call functions
// alike in all versions that know C++20 (__GXX_ABI_VERSION counts rare cases, which these types have none
// of), and libstdc++ keeps its own types' layout from version to version: neither version is compared. It has
// two layouts of strings, and others of all containers where they are to be debugged. Sanitizers change no
// layout.
#include "engine/config/module.h"

#include "module_interface.h"  // generated

namespace shardlens {
namespace {

#if defined(_LIBCPP_VERSION)
constexpr const char* kLibrary = ", libc++";
#elif _GLIBCXX_USE_CXX11_ABI
constexpr const char* kLibrary = ", libstdc++";
#else
constexpr const char* kLibrary = ", libstdc++ with strings as before C++11";
#endif

#if defined(_GLIBCXX_DEBUG)
constexpr const char* kContainers = ", containers to be debugged";
#else
constexpr const char* kContainers = "";
#endif

}  // namespace
}  // namespace shardlens

const char* shardlens_module_version() {
  using namespace shardlens;
  static const std::string version = std::string(kModuleInterface) + kLibrary + kContainers;
  return version.c_str();
}
