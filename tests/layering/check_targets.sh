#!/usr/bin/env bash
# check_targets.sh CMAKE_DIR: wrong dependencies between rooms stop the configuration, right ones do not.
# Each case is a tiny project with the repository's own cmake/LockstitchTargets.cmake.
set -euo pipefail
modules=$(cd "${1:?the folder with LockstitchTargets.cmake}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0

# configures WHAT EXPECTED USER_ROOM USER_OPTIONS: a library of USER_ROOM is configured after one of every other room.
configures() {
  local what=$1 expected=$2 room=$3 options=$4 dir=$work/case other message
  rm -rf "$dir"
  mkdir -p "$dir"
  {
    echo 'cmake_minimum_required(VERSION 3.25)'
    echo 'project(Layering LANGUAGES NONE)'
    echo "include($modules/LockstitchTargets.cmake)"
    # Nothing is compiled here: libraries without sources are enough for the check.
    echo 'function(add_library name)'
    # shellcheck disable=SC2016  # for CMake to expand
    echo '  _add_library(${name} INTERFACE)'
    echo 'endfunction()'
    echo 'function(target_include_directories)'
    echo 'endfunction()'
    echo 'function(target_link_libraries)'
    echo 'endfunction()'
    echo 'function(lockstitch_use_mlir)'
    echo 'endfunction()'
  } >"$dir/CMakeLists.txt"
  for other in cost_model runtime/program runtime/session compiler/graph frontends/onnx tools/lockstitch; do
    mkdir -p "$dir/$other"
    echo "lockstitch_library(${other//\//_} SOURCES a.cpp)" >"$dir/$other/CMakeLists.txt"
    echo "add_subdirectory($other)" >>"$dir/CMakeLists.txt"
  done
  mkdir -p "$dir/$room/user"
  echo "lockstitch_library(user SOURCES a.cpp $options)" >"$dir/$room/user/CMakeLists.txt"
  echo "add_subdirectory($room/user)" >>"$dir/CMakeLists.txt"
  message=$(cmake -S "$dir" -B "$dir/build" 2>&1) && message=configured
  if [[ $expected == yes && $message != configured ]] || [[ $expected == no && $message != *layering:* ]]; then
    echo "FAULT: $what: $message"
    faults=1
  else
    echo "ok: $what"
  fi
}

configures "the planner may use the cost model" yes compiler/planner "DEPENDS cost_model"
configures "the planner may use the program's types" yes compiler/planner "DEPENDS runtime_program"
configures "a front end may use the compiler" yes frontends "DEPENDS compiler_graph"
configures "tools may use all" yes tools "DEPENDS compiler_graph runtime_session frontends_onnx cost_model"
configures "code generation may use MLIR" yes compiler/codegen "MLIR"
configures "the runtime must not use the compiler" no runtime "DEPENDS compiler_graph"
configures "the runtime must not use the front ends" no runtime "DEPENDS frontends_onnx"
configures "the cost model must not use the runtime" no cost_model "DEPENDS runtime_program"
configures "the compiler must not use sessions" no compiler/planner "DEPENDS runtime_session"
configures "the compiler must not use the front ends" no compiler/graph "DEPENDS frontends_onnx"
configures "the front ends must not use the tools" no frontends "DEPENDS tools_lockstitch"
configures "the planner must not use MLIR" no compiler/planner "MLIR"
configures "the runtime must not use MLIR" no runtime "MLIR"
configures "the cost model must not use MLIR" no cost_model "MLIR"
exit $faults
