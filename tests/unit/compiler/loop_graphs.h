// Loops as text, for tests: each exercises one way in which values lie.
#ifndef LOCKSTITCH_TESTS_UNIT_COMPILER_LOOP_GRAPHS_H
#define LOCKSTITCH_TESTS_UNIT_COMPILER_LOOP_GRAPHS_H

#include "compiler/graph/loop.h"
#include "compiler/graph/primitive_graph.h"

#include <gtest/gtest.h>

namespace lockstitch::testing {

/// `%ID = pull "NAME" f32[SHAPE] (...)`: OPCODE of two operands, element by element of a vector or matrix.
inline std::string binary(const std::string &id, const std::string &name,
                          const std::string &opcode, const std::string &a,
                          const std::string &b, const std::string &shape,
                          const std::string &node = "n") {
  std::string dims = shape.find('x') == std::string::npos ? "(d0)" : "(d0, d1)";
  return "%" + id + " = pull \"" + name + "\" f32[" + shape + "] (%" + a +
         ", %" + b + ") over " + shape + " from \"" + node + "\"\n" +
         "  %0 = read f32 #0 at " + dims + " -> " + dims + "\n" +
         "  %1 = read f32 #1 at " + dims + " -> " + dims + "\n" +
         "  %2 = " + opcode + " f32 %0, %1\n  yield %2\n";
}

inline PrimitiveGraph parsed(const std::string &text) {
  PrimitiveGraph graph;
  std::string error;
  EXPECT_TRUE(parsePrimitiveGraph(text, graph, error)) << error << "\n" << text;
  return graph;
}

/// v = v + x[t], `trips` times; v and all v are results. The next value is also what is collected: a history.
/// `direction`: + or - for the slices and for what is collected.
inline std::string history(const std::string &direction = "+",
                           const std::string &shape = "5",
                           const std::string &trips = "4") {
  return "graph \"history\"\n%0 = input \"v\" f32[" + shape +
         "]\n%1 = input \"x\" f32[" + trips + "x" + shape +
         "]\n%2 = loop \"L/0\" bool[0] (%0, %1) trips " + trips +
         " carried 1 slices " + direction + " collected " + direction +
         " from \"L\"\n  graph \"body\"\n  %0 = input \"v\" f32[" + shape +
         "]\n  %1 = input \"x\" f32[" + shape + "]\n" +
         binary("2", "L/b/0", "add", "0", "1", shape) +
         "  output \"\" %2\n  output \"\" %2\n  end\n%3 = project \"L/1\" "
         "f32[" +
         shape + "] (%2) result 0 from \"L\"\n%4 = project \"L/2\" f32[" +
         trips + "x" + shape +
         "] (%2) result 1 from \"L\"\noutput \"last\" %3\noutput \"all\" "
         "%4\n";
}

/// (a, b) = (b, a + b), `trips` times: two slots, and a next value that is another's.
inline std::string fibonacci(const std::string &trips = "5") {
  return "graph \"fibonacci\"\n%0 = input \"a\" f32[3]\n%1 = input \"b\" "
         "f32[3]\n%2 = loop \"L/0\" bool[0] (%0, %1) trips " +
         trips +
         " carried 2 from \"L\"\n  graph \"body\"\n  %0 = input \"a\" "
         "f32[3]\n  %1 = input \"b\" f32[3]\n" +
         binary("2", "L/b/0", "add", "0", "1", "3") +
         "  output \"\" %1\n  output \"\" %2\n  end\n%3 = project \"L/1\" "
         "f32[3] (%2) result 0 from \"L\"\n%4 = project \"L/2\" f32[3] (%2) "
         "result 1 from \"L\"\noutput \"a\" %3\noutput \"b\" %4\n";
}

/// An outer loop of 3 trips around an inner one of 4: w = w * c + v; v = w. All inner w are collected twice over.
inline std::string nested() {
  return "graph \"nested\"\n%0 = input \"v\" f32[6]\n%1 = input \"c\" "
         "f32[6]\n%2 = loop \"L/0\" bool[0] (%0, %1) trips 3 carried 1 "
         "collected - from \"L\"\n  graph \"body\"\n  %0 = input \"v\" f32[6]\n"
         "  %1 = input \"c\" f32[6]\n  %2 = loop \"M/0\" bool[0] (%0, %1, %0) "
         "trips 4 carried 1 collected + from \"M\"\n    graph \"body\"\n    %0 "
         "= input \"w\" f32[6]\n    %1 = input \"c\" f32[6]\n    %2 = input "
         "\"v\" f32[6]\n" +
         binary("3", "M/b/0", "mul", "0", "1", "6") +
         binary("4", "M/b/1", "add", "3", "2", "6") +
         binary("5", "M/b/2", "sub", "4", "1", "6") +
         "    output \"\" %4\n    output \"\" %5\n    end\n  %3 = project "
         "\"M/1\" f32[6] (%2) result 0 from \"M\"\n  %4 = project \"M/2\" "
         "f32[4x6] (%2) result 1 from \"M\"\n  output \"\" %3\n  output \"\" "
         "%4\n  end\n%3 = project \"L/1\" f32[6] (%2) result 0 from \"L\"\n%4 "
         "= project \"L/2\" f32[3x4x6] (%2) result 1 from \"L\"\noutput \"v\" "
         "%3\noutput \"all\" %4\n";
}

} // namespace lockstitch::testing

#endif // LOCKSTITCH_TESTS_UNIT_COMPILER_LOOP_GRAPHS_H
