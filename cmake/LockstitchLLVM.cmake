# MLIR and LLVM 22.1, and one precompiled header for everything that includes them: parsing MLIR's headers costs far more
# than compiling our own code. MLIR's version file wants major.minor.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)

function(lockstitch_use_mlir target)
  target_include_directories(${target} SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  separate_arguments(definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  target_compile_definitions(${target} PRIVATE ${definitions})
  target_link_libraries(${target} PRIVATE MLIR LLVM)
  if(NOT TARGET lockstitch_mlir_pch)
    file(WRITE ${CMAKE_BINARY_DIR}/mlir_pch.cpp "// Compiles the precompiled header once.\n")
    add_library(lockstitch_mlir_pch OBJECT ${CMAKE_BINARY_DIR}/mlir_pch.cpp)
    target_include_directories(lockstitch_mlir_pch SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
    target_include_directories(lockstitch_mlir_pch PRIVATE ${CMAKE_SOURCE_DIR})
    target_compile_definitions(lockstitch_mlir_pch PRIVATE ${definitions})
    target_precompile_headers(lockstitch_mlir_pch PRIVATE ${CMAKE_SOURCE_DIR}/compiler/codegen/mlir_pch.h)
  endif()
  target_precompile_headers(${target} REUSE_FROM lockstitch_mlir_pch)
endfunction()
