"""Messages about the command line itself; help; streams."""
import subprocess
import unittest

from harness import PROGRAM, CommandTest


class Usage(CommandTest):
    def test_no_verb(self):
        self.refused(says=["command line", "no verb is given"], way_out="verbs are: run, compile, inspect, explain, simulate")

    def test_unknown_verb(self):
        self.refused("frob", says="there is no verb 'frob'", way_out="verbs are: run")

    def test_unknown_option(self):
        self.refused("run", "m.onnx", "--frob", says="--frob", way_out="lockstitch run --help")

    def test_missing_model(self):
        self.refused("run", says="MODEL is required", way_out="lockstitch run --help")

    def test_option_without_value(self):
        self.refused("run", "m.onnx", "--report", says="--report")

    def test_threads_not_a_number(self):
        self.refused("run", "m.onnx", "--threads", "two", says="--threads: 'two' is not a whole number from 1 to 4096")

    def test_threads_zero(self):
        self.refused("run", "m.onnx", "--threads", "0", says="--threads: '0' is not a whole number from 1 to 4096")

    def test_repeat_not_whole(self):
        self.refused("run", "m.onnx", "--repeat", "1.5", says="--repeat: '1.5' is not a whole number")

    def test_random_not_a_seed(self):
        self.refused("run", "m.onnx", "--random", "-1", says="--random: '-1' is not a whole number of 0 or more")

    def test_tolerance_negative(self):
        self.refused("run", "m.onnx", "--rtol=-1", says="--rtol: '-1' is not a number of 0 or more")

    def test_unknown_device(self):
        self.refused("run", "m.onnx", "--device", "tpu", says="--device: 'tpu' is none of auto, host, simulator, cuda")

    def test_unknown_explorer(self):
        self.refused("run", "m.onnx", "--explorer", "x", says="--explorer: 'x' is none of fusionstitching, xla, none")

    def test_unknown_colour_mode(self):
        self.refused("run", "m.onnx", "--color", "blue", says="--color: 'blue' is none of auto, always, never")

    def test_unknown_log_level(self):
        self.refused("inspect", "m.onnx", "--log-level", "loud", says="--log-level: 'loud' is none of")

    def test_check_without_data_set(self):
        self.refused("run", self.relu(), "--random", "1", "--check", says=["--check", "nothing to compare with"], way_out="--data-set")

    def test_compile_without_output(self):
        self.refused("compile", self.relu(), says="nothing is asked for", way_out="-o FILE.lsp")

    def test_unknown_stage(self):
        self.refused("run", self.relu(), "--emit", "wasm=-", says="there is no stage 'wasm'", way_out="graph, primitives, plan")

    def test_stage_without_file(self):
        self.refused("run", self.relu(), "--emit", "plan", says=["--emit plan", "no file is named"], way_out="--emit plan=-")

    def test_stage_twice(self):
        self.refused("run", self.relu(), "--emit", "plan=a", "--emit", "plan=b", says=["--emit plan", "is given twice"])

    def test_two_stages_on_standard_output(self):
        self.refused("run", self.relu(), "--emit", "plan=-", "--emit", "graph=-", says="another stage goes to standard output")

    def test_stage_and_json_on_standard_output(self):
        self.refused("run", self.relu(), "--emit", "plan=-", "--json", says="both want standard output", way_out="--report")

    def test_shape_without_name(self):
        self.refused("run", self.relu(), "--random", "1", "--shape", "2,3", says=["--shape", "has not the form NAME=VALUE"])

    def test_shape_not_numbers(self):
        self.refused("run", self.relu(), "--random", "1", "--shape", "x=2,b", says=["--shape x", "'2,b' is not a shape"])

    def test_shape_twice(self):
        self.refused("run", self.relu(), "--random", "1", "--shape", "x=2,3", "--shape", "x=2,3", says=["--shape x", "is given twice"])

    def test_dim_not_a_number(self):
        self.refused("run", self.relu(), "--random", "1", "--dim", "n=many", says=["--dim n", "'many' is not a whole number"])

    def test_dim_too_large(self):
        self.refused("run", self.relu(), "--random", "1", "--dim", "n=99999999999999999999", says=["--dim n", "is too large"])

    def test_dim_twice(self):
        self.refused("run", self.relu(), "--random", "1", "--dim", "n=1", "--dim", "n=2", says=["--dim n", "is given twice"])

    def test_target_twice(self):
        self.refused("compile", self.relu(), "-o", "m.lsp", "--target", "host", "--target", "host", says=["--target host", "is given twice"])

    def test_between_needs_two(self):
        self.refused("explain", self.relu(), "--between", "act", says="--between")

    def test_help_of_every_verb_has_an_example(self):
        for verb in ["run", "compile", "inspect", "explain", "simulate"]:
            with self.subTest(verb):
                text = self.succeeds(verb, "--help").out
                self.assertIn(f"Example:\n  lockstitch {verb} ", text)
                for option in ["--log-level", "--color", "--report", "--json"]:
                    self.assertIn(option, text)

    def test_help_and_version(self):
        self.assertIn("Exit status:", self.succeeds("--help").out)
        self.assertRegex(self.succeeds("--version").out, r"^lockstitch \d+\.\d+\.\d+\n$")

    def test_colour_only_when_asked_for(self):
        self.assertNotIn("\x1b", self.call("run").err)
        self.assertIn("\x1b", self.call("run", "m.onnx", "--color", "always").err)
        self.assertNotIn("\x1b", self.call("run", "m.onnx", "--color", "never").err)

    def test_results_and_log_go_to_different_streams(self):
        result = self.succeeds("run", self.relu(), "--random", "1", "--log-level", "info")
        self.assertIn("y", result.out)
        self.assertNotIn("compiling for", result.out)
        self.assertIn("compiling for host", result.err)

    def test_full_standard_output(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, "run", self.relu(), "--random", "1"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("standard output: cannot be written", done.stderr)

    def test_reader_that_goes_away(self):
        with subprocess.Popen([PROGRAM, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.close()
            process.stderr.read()
            self.assertEqual(process.wait(), 0)


if __name__ == "__main__":
    unittest.main()
