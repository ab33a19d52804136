"""Tests of printed stages: files with RUN lines, their output compared by FileCheck.

ctest runs them (tests/scripts.cmake) and says where the programs are; by hand, from the repository's root:
    /usr/lib/llvm-22/bin/lit -v tests/lit            (programs of build/release)
"""
import os

import lit.formats

source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
programs = lit_config.params.get("bin", os.path.join(source, "build", "release", "bin"))  # noqa: F821
llvm = lit_config.params.get("llvm_bin", "/usr/lib/llvm-22/bin")  # noqa: F821

config.name = "lockstitch"  # noqa: F821
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir", ".test", ".txt"]  # noqa: F821
config.excludes = ["Inputs", "CMakeLists.txt"]  # noqa: F821
config.test_source_root = os.path.join(source, "tests", "lit")  # noqa: F821
config.test_exec_root = os.path.join(os.path.dirname(programs), "lit")  # noqa: F821
config.environment["PATH"] = os.pathsep.join([programs, llvm, os.environ.get("PATH", "")])  # noqa: F821
config.substitutions.append(("%workloads", os.path.join(source, "tests", "data", "workloads")))  # noqa: F821
