# The libraries of the x86 kernels (device/cpu/x86): oneDNN, BLIS and Eigen for products, and OpenMP, whose runtime
# oneDNN needs.
find_package(OpenMP REQUIRED COMPONENTS CXX)
# oneDNN is found by its files: Debian's CMake package for it also demands OpenCL's headers, which nothing here uses.
find_library(DNNL_LIBRARY dnnl REQUIRED)
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp REQUIRED)
# BLIS for one thread, as a part of the program: a library of its own would be chosen by the system's alternatives.
find_library(BLIS_LIBRARY libblis.a PATH_SUFFIXES blis-serial REQUIRED)
find_path(BLIS_INCLUDE_DIR blis.h PATH_SUFFIXES blis-serial REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
target_include_directories(shardlens_engine SYSTEM PRIVATE ${BLIS_INCLUDE_DIR})
target_link_libraries(shardlens_engine PRIVATE ${DNNL_LIBRARY} ${BLIS_LIBRARY} Eigen3::Eigen OpenMP::OpenMP_CXX)
