# Tests that are scripts. They run from the repository's root; Python ones need the standard library only, except those
# that run in the environment that tools/dev makes (venv.sh).
find_program(LOCKSTITCH_PYTHON NAMES python3 HINTS /usr/bin NO_CACHE REQUIRED)

# lockstitch_script_test(NAME LABELS ... TIMEOUT seconds COST n COMMAND ...)
#   Tests of a high COST start first, so that no long one runs alone at the end.
function(lockstitch_script_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT;COST" "LABELS;COMMAND" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(NOT ARG_COST)
    set(ARG_COST 0)
  endif()
  add_test(NAME ${name} COMMAND ${ARG_COMMAND} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} COST ${ARG_COST})
endfunction()

set(tests ${CMAKE_CURRENT_SOURCE_DIR})

lockstitch_script_test(layering.includes LABELS layering COMMAND ${LOCKSTITCH_PYTHON} ${tests}/layering/check_includes.py)
lockstitch_script_test(layering.includes_finds_faults LABELS layering
  COMMAND ${LOCKSTITCH_PYTHON} ${tests}/layering/check_includes.py --self-test)
lockstitch_script_test(layering.targets LABELS layering COMMAND ${tests}/layering/check_targets.sh ${CMAKE_SOURCE_DIR}/cmake)
lockstitch_script_test(docs.links LABELS docs COMMAND ${LOCKSTITCH_PYTHON} ${tests}/docs/check_links.py)

lockstitch_script_test(docs.check_walk_accepts LABELS docs
  COMMAND ${LOCKSTITCH_PYTHON} ${tests}/docs/check_walk.py ${tests}/docs/inputs/right.md)
foreach(wrong wrong fails)
  lockstitch_script_test(docs.check_walk_refuses_${wrong} LABELS docs
    COMMAND ${LOCKSTITCH_PYTHON} ${tests}/docs/check_walk.py ${tests}/docs/inputs/${wrong}.md)
  set_tests_properties(docs.check_walk_refuses_${wrong} PROPERTIES PASS_REGULAR_EXPRESSION "1 blocks, 1 faults")
endforeach()
lockstitch_script_test(numerics.runner LABELS workloads COMMAND ${LOCKSTITCH_PYTHON} ${tests}/numerics/run_workloads_test.py)

lockstitch_script_test(dev.verbs LABELS dev COMMAND ${tests}/dev/dev_test.sh)

# Only where this build has the whole line; sanitizer builds test their rooms without it.
if(TARGET lockstitch AND NOT LOCKSTITCH_SANITIZE)
  if(EXISTS ${CMAKE_SOURCE_DIR}/docs/walk.md)
    lockstitch_script_test(docs.walk LABELS docs
      COMMAND ${LOCKSTITCH_PYTHON} ${tests}/docs/check_walk.py --bin ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${CMAKE_SOURCE_DIR}/docs/walk.md)
  endif()

  # One test per workload and device: values, kernel counts, findings; every explorer, and whole models without libraries.
  file(GLOB_RECURSE models RELATIVE ${tests}/data/workloads CONFIGURE_DEPENDS ${tests}/data/workloads/*/model.onnx)
  foreach(model ${models})
    get_filename_component(workload ${model} DIRECTORY)
    string(REPLACE "/" "." test ${workload})
    set(ways fusionstitching,xla,none)
    if(NOT workload MATCHES "/kernels/")
      string(APPEND ways ",no-libraries")
    endif()
    foreach(device host simulator)
      lockstitch_script_test(workloads.${test}.${device} LABELS workloads TIMEOUT 600
        COMMAND ${LOCKSTITCH_PYTHON} ${tests}/numerics/run_workloads.py --lockstitch $<TARGET_FILE:lockstitch>
                --work ${CMAKE_BINARY_DIR}/workload-reports --devices ${device} --explorers ${ways} ${workload})
    endforeach()
  endforeach()

  # One test per operator and device: every form and size of it (conformance/cases.py).
  lockstitch_script_test(conformance.cases LABELS conformance
    COMMAND ${tests}/venv.sh tests/conformance/make_cases.py ${CMAKE_BINARY_DIR}/conformance)
  set_tests_properties(conformance.cases PROPERTIES FIXTURES_SETUP conformance)
  file(STRINGS ${tests}/conformance/operators.txt operators)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${tests}/conformance/operators.txt)
  foreach(operator ${operators})
    foreach(device host simulator)
      lockstitch_script_test(conformance.${operator}.${device} LABELS conformance TIMEOUT 600
        COMMAND ${tests}/venv.sh tests/conformance/run_cases.py --lockstitch $<TARGET_FILE:lockstitch>
                --cases ${CMAKE_BINARY_DIR}/conformance --work ${CMAKE_BINARY_DIR}/conformance-work
                --devices ${device} --explorers fusionstitching,none ${operator})
      set_tests_properties(conformance.${operator}.${device} PROPERTIES FIXTURES_REQUIRED conformance)
    endforeach()
  endforeach()

  # One test per real model and way.
  foreach(model magika ppocr_rec minilm_l3)
    foreach(way host none artifact simulator)
      lockstitch_script_test(models.${model}.${way} LABELS models TIMEOUT 900 COST 50
        COMMAND ${tests}/venv.sh tools/models/check.py --lockstitch $<TARGET_FILE:lockstitch>
                --work ${CMAKE_BINARY_DIR}/models/${way} --ways ${way} ${model})
    endforeach()
  endforeach()
  if(TARGET magika)
    lockstitch_script_test(models.magika.example LABELS models
      COMMAND ${tests}/venv.sh tools/models/check_example.py $<TARGET_FILE:magika>)
  endif()

  # Unit tests again, under the sanitizers, in a build of their own.
  foreach(room cost_model runtime simulator frontends)
    lockstitch_script_test(sanitizers.${room} LABELS sanitizer TIMEOUT 3600 COST 100
      COMMAND ${tests}/sanitizers/run.sh test ${room})
  endforeach()

  # Files with RUN lines, checked by FileCheck.
  file(GLOB_RECURSE lit_tests CONFIGURE_DEPENDS ${tests}/lit/*.test ${tests}/lit/*.mlir ${tests}/lit/*.txt)
  list(FILTER lit_tests EXCLUDE REGEX "/Inputs/|CMakeLists.txt$")
  if(lit_tests)
    find_program(LOCKSTITCH_LIT NAMES lit HINTS ${LOCKSTITCH_LLVM_BIN} /usr/lib/llvm-22/bin NO_CACHE REQUIRED)
    lockstitch_script_test(lit LABELS lit TIMEOUT 900
      COMMAND ${LOCKSTITCH_PYTHON} ${LOCKSTITCH_LIT} -v --param bin=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
              --param llvm_bin=${LOCKSTITCH_LLVM_BIN} ${tests}/lit)
  endif()
endif()
