# shardlens_gui: Dear ImGui (docking), ImPlot, the command palette and GLFW, compiled from the pinned source package that
# app/setup.sh checked and unpacked. shardlens_test_engine: the Test Engine, for tests alone, because its licence is not
# free for everybody (THIRD_PARTY.md).
set(bundle "${SHARDLENS_THIRD_PARTY}/imgui-bundle-1.93.0")
if(NOT EXISTS "${bundle}/external/imgui/imgui/imgui.cpp")
  message(FATAL_ERROR "The GUI sources are not in ${bundle}. Run ./app/setup.sh: it fetches and unpacks them.")
endif()

# Always optimised and free of our warnings: an unoptimised GUI would make every debug frame slow.
set(gui_options -w -O2)
if(SHARDLENS_SANITIZE)
  # What is undefined in third-party code is not ours to judge; addresses and threads stay watched.
  set(gui_options -w -O1 -fno-sanitize=undefined)
endif()

set(GLFW_BUILD_WAYLAND OFF)
set(GLFW_BUILD_DOCS OFF)
set(GLFW_BUILD_TESTS OFF)
set(GLFW_BUILD_EXAMPLES OFF)
set(GLFW_INSTALL OFF)
set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
add_subdirectory("${bundle}/external/glfw/glfw" "${CMAKE_BINARY_DIR}/glfw" EXCLUDE_FROM_ALL)
target_compile_options(glfw PRIVATE ${gui_options})

set(imgui "${bundle}/external/imgui/imgui")
set(implot "${bundle}/external/implot/implot")
set(glad "${bundle}/external/glfw/glfw/deps")
set(test_engine "${bundle}/external/imgui_test_engine/imgui_test_engine")
set(palette "${bundle}/external/imgui-command-palette/imgui-command-palette")

# The plots' templates take GCC more than ten minutes to instrument.
set_source_files_properties(${implot}/implot_items.cpp PROPERTIES COMPILE_OPTIONS -fno-sanitize=all)

add_library(shardlens_gui STATIC EXCLUDE_FROM_ALL
  ${imgui}/imgui.cpp
  ${imgui}/imgui_demo.cpp
  ${imgui}/imgui_draw.cpp
  ${imgui}/imgui_stacklayout.cpp
  ${imgui}/imgui_tables.cpp
  ${imgui}/imgui_widgets.cpp
  ${imgui}/misc/cpp/imgui_stdlib.cpp
  ${imgui}/backends/imgui_impl_glfw.cpp
  ${imgui}/backends/imgui_impl_opengl3.cpp
  ${implot}/implot.cpp
  ${implot}/implot_items.cpp
  ${palette}/imcmd_command_palette.cpp
  ${palette}/imcmd_fuzzy_search.cpp)
# One OpenGL loader for Dear ImGui's renderer and for our own drawing: the header-only glad that GLFW carries.
file(WRITE "${CMAKE_BINARY_DIR}/glad.cpp.new" "#define GLAD_GL_IMPLEMENTATION\n#include <glad/gl.h>\n")
file(COPY_FILE "${CMAKE_BINARY_DIR}/glad.cpp.new" "${CMAKE_BINARY_DIR}/glad.cpp" ONLY_IF_DIFFERENT)
target_sources(shardlens_gui PRIVATE "${CMAKE_BINARY_DIR}/glad.cpp")
# The demo windows are not shown, and the sanitizers would take minutes over them.
set_source_files_properties(${imgui}/imgui_demo.cpp PROPERTIES COMPILE_DEFINITIONS IMGUI_DISABLE_DEMO_WINDOWS)
set_source_files_properties(${imgui}/backends/imgui_impl_opengl3.cpp PROPERTIES
  COMPILE_OPTIONS "-DIMGUI_IMPL_OPENGL_LOADER_CUSTOM;-include;glad/gl.h")
target_include_directories(shardlens_gui SYSTEM PUBLIC
  ${imgui} ${imgui}/backends ${imgui}/misc/cpp ${implot} ${test_engine} ${test_engine}/imgui_test_engine
  ${palette} ${glad} "${bundle}/external/glfw/glfw/include" "${bundle}/external/hello_imgui/hello_imgui/src/hello_imgui")
# Dear ImGui calls the Test Engine's hooks if one is running. The studio's are empty (app/studio/without_test_engine.cpp).
target_compile_definitions(shardlens_gui PUBLIC
  IMGUI_DEFINE_MATH_OPERATORS
  IMGUI_USE_WCHAR32
  IMGUI_DISABLE_OBSOLETE_FUNCTIONS
  IMGUI_ENABLE_TEST_ENGINE
  IMGUI_TEST_ENGINE_ENABLE_COROUTINE_STDTHREAD_IMPL=1
  IMGUI_TEST_ENGINE_ENABLE_STD_FUNCTION=1)
# ImPlot makes every plot anew for each type of number: for what is drawn here, instead of ten.
set_property(SOURCE ${implot}/implot_items.cpp APPEND PROPERTY COMPILE_OPTIONS
  "-DIMPLOT_CUSTOM_NUMERIC_TYPES=(double)")
target_compile_options(shardlens_gui PRIVATE ${gui_options})

add_library(shardlens_test_engine STATIC EXCLUDE_FROM_ALL
  ${test_engine}/imgui_test_engine/imgui_capture_tool.cpp
  ${test_engine}/imgui_test_engine/imgui_te_context.cpp
  ${test_engine}/imgui_test_engine/imgui_te_coroutine.cpp
  ${test_engine}/imgui_test_engine/imgui_te_engine.cpp
  ${test_engine}/imgui_test_engine/imgui_te_exporters.cpp
  ${test_engine}/imgui_test_engine/imgui_te_perftool.cpp
  ${test_engine}/imgui_test_engine/imgui_te_ui.cpp
  ${test_engine}/imgui_test_engine/imgui_te_utils.cpp)
target_compile_options(shardlens_test_engine PRIVATE ${gui_options})
target_link_libraries(shardlens_test_engine PUBLIC shardlens_gui)

find_package(PkgConfig REQUIRED)
pkg_check_modules(EGL REQUIRED IMPORTED_TARGET egl)
find_package(Threads REQUIRED)
target_link_libraries(shardlens_gui PUBLIC glfw PkgConfig::EGL Threads::Threads ${CMAKE_DL_LIBS})

set(font_dir "${bundle}/bindings/imgui_bundle/assets/fonts")
set(SHARDLENS_FONTS
  ${font_dir}/Roboto/Roboto-Regular.ttf
  ${font_dir}/Roboto/Roboto-Bold.ttf
  ${font_dir}/Roboto/Roboto-RegularItalic.ttf
  ${font_dir}/Inconsolata-Medium.ttf
  ${font_dir}/fontawesome-webfont.ttf)
