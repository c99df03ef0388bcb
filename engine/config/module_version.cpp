// The version text that a plug-in and its program must agree on, compiled into both of them. They pass C++
// objects to each other. If one side has another layout or meaning for an object, it would read wrong memory.
// So everything that can be known about layout and meaning is compared, and nothing else.
//
// The interface is a hash (cmake/module_interface.cmake), not a number that a person must remember to change.
// It covers the headers that declare those objects, and the sources that both sides compile, because two
// different ways to compute shard ranges are as wrong as two layouts. It does not cover all sources, unlike
// the check between the processes of a run (engine/runtime/build.h): a plug-in with a corrected kernel still
// works with the installed program.
//
// About the compiler, only its effect on those objects counts. g++ and clang++ lay out classes and call
// functions in the same way in all versions that support C++20 (__GXX_ABI_VERSION counts rare cases, and
// these types have none of them). libstdc++ keeps the layout of its own types from version to version. So
// neither version is compared. libstdc++ has two layouts of strings, and other layouts of all containers in
// debug mode. Sanitizers change no layout.
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
