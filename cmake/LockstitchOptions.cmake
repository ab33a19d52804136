# Language level, warnings and build options. Everything here concerns our own code only.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

option(LOCKSTITCH_BUILD_COMPILER "Build the compiler, the front ends and the tools (needs LLVM and MLIR)" ON)
option(LOCKSTITCH_BUILD_TESTS "Build the tests (needs GoogleTest)" ON)
option(LOCKSTITCH_BUILD_BENCH "Build the benchmarks (needs Google Benchmark)" OFF)
set(LOCKSTITCH_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize=, for example address,undefined")

# Release keeps assertions out, but never the checks on user data: those are not assertions.
add_compile_options(-Wall -Wextra -Wno-unused-parameter -Werror)
# Values must not depend on the compiler's taste for contraction: host, simulator and GPU agree bit for bit.
add_compile_options(-ffp-contract=off)
if(LOCKSTITCH_SANITIZE)
  add_compile_options(-fsanitize=${LOCKSTITCH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LOCKSTITCH_SANITIZE})
endif()

# Debian's plain `ld.lld` is an older release: take the one that belongs to our compiler.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  get_filename_component(LOCKSTITCH_LLVM_BIN ${CMAKE_CXX_COMPILER} REALPATH)
  get_filename_component(LOCKSTITCH_LLVM_BIN ${LOCKSTITCH_LLVM_BIN} DIRECTORY)
  add_link_options(-fuse-ld=lld -B${LOCKSTITCH_LLVM_BIN})
endif()
