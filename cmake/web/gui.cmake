# shardlens_gui for a page: the same Dear ImGui, ImPlot and palette as on a desktop (cmake/gui.cmake), on Emscripten's
# GLFW and WebGL 2.
set(bundle "${SHARDLENS_THIRD_PARTY}/imgui-bundle-1.93.0")
if(NOT EXISTS "${bundle}/external/imgui/imgui/imgui.cpp")
  message(FATAL_ERROR "The GUI sources are not in ${bundle}. Run ./app/setup.sh: it fetches and unpacks them.")
endif()
set(imgui "${bundle}/external/imgui/imgui")
set(implot "${bundle}/external/implot/implot")
set(palette "${bundle}/external/imgui-command-palette/imgui-command-palette")
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
set_source_files_properties(${imgui}/imgui_demo.cpp PROPERTIES COMPILE_DEFINITIONS IMGUI_DISABLE_DEMO_WINDOWS)
set_source_files_properties(${implot}/implot_items.cpp PROPERTIES COMPILE_OPTIONS
  "-DIMPLOT_CUSTOM_NUMERIC_TYPES=(double)")
target_include_directories(shardlens_gui SYSTEM PUBLIC ${imgui} ${imgui}/backends ${imgui}/misc/cpp ${implot} ${palette}
  "${bundle}/external/hello_imgui/hello_imgui/src/hello_imgui")
target_compile_definitions(shardlens_gui
  PUBLIC IMGUI_DEFINE_MATH_OPERATORS IMGUI_USE_WCHAR32 IMGUI_DISABLE_OBSOLETE_FUNCTIONS
    "ImDrawIdx=unsigned int"  # WebGL draws from the first vertex on, so 16 bits would end at 65,536 vertices
  PRIVATE IMGUI_IMPL_OPENGL_ES3)
target_compile_options(shardlens_gui PRIVATE -w -Os)

set(font_dir "${bundle}/bindings/imgui_bundle/assets/fonts")
set(SHARDLENS_FONTS
  ${font_dir}/Roboto/Roboto-Regular.ttf
  ${font_dir}/Roboto/Roboto-Bold.ttf
  ${font_dir}/Roboto/Roboto-RegularItalic.ttf
  ${font_dir}/Inconsolata-Medium.ttf
  ${font_dir}/fontawesome-webfont.ttf)
