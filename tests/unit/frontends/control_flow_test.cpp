// Nodes with bodies and the recurrent operators: what becomes of them, and every message.
#include "model_maker.h"

#include "compiler/graph/loop.h"

#include <gmock/gmock.h>

using namespace lockstitch;
using namespace lockstitch::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

using Names = std::vector<std::string>;

/// A body under construction.
struct Body {
  ::onnx::GraphProto proto;
  Body(Names inputs, Names outputs) {
    for (const std::string &name : inputs)
      proto.add_input()->set_name(name);
    for (const std::string &name : outputs)
      proto.add_output()->set_name(name);
  }
  Body &node(const std::string &op, Names inputs, Names outputs,
             Attributes attributes = {}) {
    ::onnx::NodeProto &node = *proto.add_node();
    node.set_op_type(op);
    for (const std::string &name : inputs)
      node.add_input(name);
    for (const std::string &name : outputs)
      node.add_output(name);
    for (const NamedAttribute &attribute : attributes)
      setAttribute(*node.add_attribute(), attribute.name, attribute.value);
    return *this;
  }
};

void add(::onnx::NodeProto &node, const std::string &name, const Body &body) {
  ::onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(::onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = body.proto;
}

HostTensor truth(bool value) {
  return tensor(ElementType::Bool, {}, {value ? 1. : 0.});
}

/// v = v + c, `trips` times: `last`, and all of them stacked.
ModelMaker counter(double trips) {
  ModelMaker maker(17);
  maker.input("v", ElementType::F32, {2})
      .input("c", ElementType::F32, {2})
      .initializer("trips", tensor(ElementType::I64, {}, {trips}))
      .initializer("go", truth(true))
      .output("last")
      .output("all");
  add(maker.node("Loop", {"trips", "go", "v"}, {"last", "all"}, {}, "loop"),
      "body",
      Body({"i", "go1", "v1"}, {"go2", "v2", "s"})
          .node("Identity", {"go1"}, {"go2"})
          .node("Add", {"v1", "c"}, {"v2"})
          .node("Neg", {"v2"}, {"s"}));
  return maker;
}

::onnx::NodeProto &loopOf(ModelMaker &maker) {
  for (::onnx::NodeProto &node : *maker.proto.mutable_graph()->mutable_node())
    if (node.name() == "loop")
      return node;
  ADD_FAILURE() << "no node 'loop'";
  return *maker.proto.mutable_graph()->add_node();
}
::onnx::GraphProto &bodyOf(ModelMaker &maker) {
  return *loopOf(maker).mutable_attribute(0)->mutable_g();
}

PrimitiveGraph imported(const ModelMaker &maker) {
  auto graph = maker.import();
  if (!graph.ok()) {
    ADD_FAILURE() << textOf(graph.error());
    return {};
  }
  EXPECT_EQ(graph->verify().value_or(""), "");
  return *graph;
}

std::string refusal(const ModelMaker &maker) {
  auto graph = maker.import();
  if (graph.ok()) {
    ADD_FAILURE() << "this should have been refused";
    return {};
  }
  EXPECT_EQ(graph.error().kind, ErrorKind::Refused);
  return textOf(graph.error());
}

std::vector<std::vector<double>> evaluated(const PrimitiveGraph &graph,
                                           std::vector<HostTensor> inputs) {
  auto outputs = evaluateGraph(graph, inputs);
  if (!outputs.ok()) {
    ADD_FAILURE() << textOf(outputs.error());
    return {};
  }
  std::vector<std::vector<double>> values;
  for (const HostTensor &output : *outputs)
    values.push_back(valuesOf(output));
  return values;
}

TEST(ImportLoop, IsALoopWithItsNodesByName) {
  PrimitiveGraph graph = imported(counter(3));
  ASSERT_EQ(graph.primitives.size(), 3u); // the loop, and its two results
  const Primitive &loop = graph.primitives[0];
  EXPECT_EQ(loop.kind, Primitive::Kind::Loop);
  EXPECT_EQ(loop.loop->trips.value(), 3);
  std::vector<std::string> nodes;
  for (OriginId origin : loop.origins)
    nodes.push_back(graph.origins[origin].node);
  EXPECT_THAT(nodes, ElementsAre("loop", "loop/body/Add#0", "loop/body/Neg#0"));
  EXPECT_EQ(loop.loop->body.primitives[0].name, "loop/body/Add#0/0");
  for (const Origin &origin : graph.origins)
    EXPECT_EQ(origin.fate, origin.node == "loop/body/Identity#0"
                               ? Origin::Fate::Folded // the condition is known
                               : Origin::Fate::Primitive)
        << origin.node;
  EXPECT_THAT(evaluated(graph, {f32({2}, {1, 2}), f32({2}, {10, 20})}),
              ElementsAre(ElementsAre(31, 62),
                          ElementsAre(-11, -22, -21, -42, -31, -62)));
}

TEST(ImportLoop, WithoutTripsThereIsNothing) {
  for (double trips : {0., -3.}) {
    PrimitiveGraph graph = imported(counter(trips));
    EXPECT_TRUE(graph.primitives.empty());
    EXPECT_EQ(toString(graph.type(graph.outputs[1])), "f32[0x2]");
    EXPECT_EQ(graph.outputs[0], graph.inputs[0]);
  }
}

TEST(ImportLoop, NamesOfTheBodyHideThoseAround) {
  ModelMaker maker = counter(2);
  // The body's own "c", made from the outer "v".
  ::onnx::GraphProto &body = bodyOf(maker);
  Body own({}, {});
  own.node("Mul", {"v", "v"}, {"c"});
  *body.add_node() = own.proto.node(0);
  body.mutable_node()->SwapElements(1, 3);
  body.mutable_node()->SwapElements(2, 3);
  EXPECT_THAT(
      evaluated(imported(maker), {f32({2}, {2, 3}), f32({2}, {100, 100})})[0],
      ElementsAre(2 + 2 * 4, 3 + 2 * 9));
}

TEST(ImportLoop, Messages) {
  struct {
    const char *reason;
    void (*change)(ModelMaker &maker);
  } cases[] = {
      {"loop: Loop-17 (i64[], bool[], f32[2]): its trip count is computed from "
       "the model's inputs",
       [](ModelMaker &maker) {
         maker.proto.mutable_graph()->mutable_initializer()->DeleteSubrange(0,
                                                                            1);
         maker.input("trips", ElementType::I64, {});
       }},
      {"its condition is computed from data and it stacks values",
       [](ModelMaker &maker) {
         maker.proto.mutable_graph()->mutable_initializer()->RemoveLast();
         maker.input("go", ElementType::Bool, {});
       }},
      {"its condition is computed from data and nothing bounds its trips",
       [](ModelMaker &maker) {
         loopOf(maker).set_input(0, "");
         loopOf(maker).mutable_output()->RemoveLast();
         maker.proto.mutable_graph()->mutable_output()->RemoveLast();
       }},
      {"it makes 2000000 trips, more than 1048576",
       [](ModelMaker &maker) {
         maker.initializer("many", tensor(ElementType::I64, {}, {2e6}));
         loopOf(maker).set_input(0, "many");
       }},
      {"its carried value 'v1' changes from f32[2] to f32[2x2]",
       [](ModelMaker &maker) {
         maker.input("wide", ElementType::F32, {2, 2});
         bodyOf(maker).mutable_node(1)->set_input(1, "wide");
       }},
      {"its carried value 0 has no initial value",
       [](ModelMaker &maker) { loopOf(maker).set_input(2, ""); }},
      {"the condition that its body makes is f32[2], not one bool",
       [](ModelMaker &maker) {
         bodyOf(maker).mutable_output(0)->set_name("s");
       }},
      {"its condition is i64[], not one bool",
       [](ModelMaker &maker) { loopOf(maker).set_input(1, "trips"); }},
      {"it has no graph 'body'",
       [](ModelMaker &maker) { loopOf(maker).clear_attribute(); }},
      {"its graph 'body' has 2 inputs and 3 outputs instead of 3 and 3",
       [](ModelMaker &maker) { bodyOf(maker).mutable_input()->RemoveLast(); }},
      {"nothing computes the output 'lost' of its body",
       [](ModelMaker &maker) {
         bodyOf(maker).mutable_output(2)->set_name("lost");
       }},
      {"loop/body/Neg#0: Neg-17: its input 'nowhere' is not computed",
       [](ModelMaker &maker) {
         bodyOf(maker).mutable_node(2)->set_input(0, "nowhere");
       }},
  };
  for (const auto &test : cases) {
    ModelMaker maker = counter(3);
    test.change(maker);
    EXPECT_THAT(refusal(maker), HasSubstr(test.reason));
  }
}

TEST(ImportIf, BranchesOfDifferentTypes) {
  ModelMaker maker(17);
  maker.input("c", ElementType::Bool, {})
      .input("x", ElementType::F32, {2})
      .input("w", ElementType::F32, {3})
      .output("y");
  ::onnx::NodeProto &node = maker.node("If", {"c"}, {"y"}, {}, "choose");
  add(node, "then_branch", Body({}, {"a"}).node("Neg", {"x"}, {"a"}));
  add(node, "else_branch", Body({}, {"b"}).node("Neg", {"w"}, {"b"}));
  EXPECT_THAT(refusal(maker),
              HasSubstr("choose: If-17 (bool[]): its condition is computed "
                        "from the model's inputs, and its branches make "
                        "different types of 'y': f32[2] and f32[3]"));
}

TEST(ImportIf, ItsConditionIsOneBool) {
  ModelMaker maker(17);
  maker.input("c", ElementType::Bool, {2}).output("y");
  ::onnx::NodeProto &node = maker.node("If", {"c"}, {"y"}, {}, "choose");
  add(node, "then_branch", Body({}, {"a"}).node("Not", {"c"}, {"a"}));
  add(node, "else_branch", Body({}, {"b"}).node("Not", {"c"}, {"b"}));
  EXPECT_THAT(refusal(maker),
              HasSubstr("its condition is bool[2], not one bool"));
}

ModelMaker scanner(int64_t opset, int64_t scans = 1) {
  ModelMaker maker(opset);
  maker.input("s", ElementType::F32, {2})
      .input("x", ElementType::F32, {3, 2})
      .output("last")
      .output("all");
  Names inputs = opset < 9 ? Names{"", "s", "x"} : Names{"s", "x"};
  add(maker.node("Scan", inputs, {"last", "all"}, {{"num_scan_inputs", scans}},
                 "loop"),
      "body",
      Body({"s1", "x1"}, {"s2", "y"})
          .node("Add", {"s1", "x1"}, {"s2"})
          .node("Identity", {"s2"}, {"y"}));
  return maker;
}

TEST(ImportScan, CollectsBesideTheState) {
  PrimitiveGraph graph = imported(scanner(17));
  EXPECT_THAT(
      evaluated(graph, {f32({2}, {1, 2}), f32({3, 2}, {1, 1, 2, 2, 3, 3})}),
      ElementsAre(ElementsAre(7, 8), ElementsAre(2, 3, 4, 5, 7, 8)));
}

TEST(ImportScan, NoSlicesNoTrips) {
  ModelMaker maker(17);
  maker.input("s", ElementType::F32, {2})
      .input("x", ElementType::F32, {0, 2})
      .output("last")
      .output("all");
  add(maker.node("Scan", {"s", "x"}, {"last", "all"},
                 {{"num_scan_inputs", int64_t{1}}}),
      "body",
      Body({"s1", "x1"}, {"s2", "y"})
          .node("Add", {"s1", "x1"}, {"s2"})
          .node("Identity", {"s2"}, {"y"}));
  PrimitiveGraph graph = imported(maker);
  EXPECT_EQ(toString(graph.type(graph.outputs[1])), "f32[0x2]");
  EXPECT_TRUE(graph.primitives.empty());
}

TEST(ImportScan, Messages) {
  struct {
    int64_t opset;
    const char *reason;
    void (*change)(ModelMaker &maker);
  } cases[] = {
      {17, "num_scan_inputs does not fit its inputs",
       [](ModelMaker &maker) { loopOf(maker).mutable_attribute(0)->set_i(3); }},
      {17, "one of its inputs is missing",
       [](ModelMaker &maker) { loopOf(maker).set_input(0, ""); }},
      {17, "scan_input_axes: 2 is not an axis of a tensor of rank 2",
       [](ModelMaker &maker) {
         setAttribute(*loopOf(maker).add_attribute(), "scan_input_axes",
                      std::vector<int64_t>{2});
       }},
      {17, "scan_output_axes: -3 is not an axis of a tensor of rank 2",
       [](ModelMaker &maker) {
         setAttribute(*loopOf(maker).add_attribute(), "scan_output_axes",
                      std::vector<int64_t>{-3});
       }},
      {17, "scan_input_directions has 2 entries instead of 1",
       [](ModelMaker &maker) {
         setAttribute(*loopOf(maker).add_attribute(), "scan_input_directions",
                      std::vector<int64_t>{0, 1});
       }},
      {17, "its inputs have different numbers of slices: 2 and 3",
       [](ModelMaker &maker) { loopOf(maker).mutable_attribute(0)->set_i(2); }},
      {8, "its inputs have different batch sizes: 2 and 3",
       [](ModelMaker &) {}},
      {8, "sequence lengths of its own for every batch are not supported",
       [](ModelMaker &maker) { loopOf(maker).set_input(0, "s"); }},
  };
  for (const auto &test : cases) {
    ModelMaker maker = scanner(test.opset);
    test.change(maker);
    EXPECT_THAT(refusal(maker), HasSubstr(test.reason));
  }
  ModelMaker scalar(8);
  scalar.input("s", ElementType::F32, {}).input("x", ElementType::F32, {3, 2});
  scalar.output("last");
  add(scalar.node("Scan", {"", "s", "x"}, {"last"},
                  {{"num_scan_inputs", int64_t{1}}}),
      "body", Body({"s1", "x1"}, {"s2"}).node("Add", {"s1", "x1"}, {"s2"}));
  EXPECT_THAT(refusal(scalar), HasSubstr("a scalar has no batch dimension"));
  ModelMaker empty(8);
  empty.input("s", ElementType::F32, {0, 2})
      .input("x", ElementType::F32, {0, 3, 2})
      .output("last");
  add(empty.node("Scan", {"", "s", "x"}, {"last"},
                 {{"num_scan_inputs", int64_t{1}}}),
      "body", Body({"s1", "x1"}, {"s2"}).node("Add", {"s1", "x1"}, {"s2"}));
  EXPECT_THAT(refusal(empty), HasSubstr("its batch is empty"));
}

HostTensor zeros(std::vector<int64_t> shape,
                 ElementType type = ElementType::F32) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return tensor(type, shape, std::vector<double>(count, 0));
}

TEST(ImportRecurrent, Messages) {
  // Time 4, batch 3, inputs 2, hidden 5.
  std::vector<HostTensor> good = {zeros({4, 3, 2}), zeros({1, 5, 2}),
                                  zeros({1, 5, 5})};
  struct {
    std::vector<HostTensor> inputs;
    Attributes attributes;
    const char *reason;
  } cases[] = {
      {good, {{"direction", std::string("up")}}, "there is no direction 'up'"},
      {good,
       {{"hidden_size", int64_t{6}}},
       "hidden_size 6 does not fit R, [1,5,5]"},
      {good,
       {{"direction", std::string("bidirectional")}},
       "its input 1 should be f32[2x5x2], not f32[1x5x2]"},
      {{zeros({4, 3}), good[1], good[2]},
       {},
       "its first three inputs should have three dimensions"},
      {{zeros({4, 0, 2}), good[1], good[2]},
       {},
       "empty sequences are not supported"},
      {{good[0], good[1], good[2], zeros({1, 9})},
       {},
       "its input 3 should be f32[1x10], not f32[1x9]"},
      {{good[0], good[1], good[2], absent(), zeros({4}, ElementType::I32)},
       {},
       "its sequence_lens should be i32[3], not i32[4]"},
      {{good[0], good[1], good[2], absent(), absent(), zeros({3, 1, 5})},
       {},
       "its input 5 should be f32[1x3x5], not f32[3x1x5]"},
  };
  for (const auto &test : cases)
    EXPECT_THAT(refusalOf("RNN", 17, test.inputs, test.attributes),
                HasSubstr(test.reason));

  for (auto [names, reason] :
       {std::pair(Names{"Tanh", "Relu"}, "it names 2 activations instead of 1"),
        {Names{"Gelu"}, "the activation 'Gelu' is not supported"}}) {
    ModelMaker maker(17);
    maker.input("x", ElementType::F32, {4, 3, 2})
        .initializer("w", good[1])
        .initializer("r", good[2])
        .output("y");
    ::onnx::AttributeProto &attribute =
        *maker.node("RNN", {"x", "w", "r"}, {"y"}).add_attribute();
    attribute.set_name("activations");
    attribute.set_type(::onnx::AttributeProto::STRINGS);
    for (const std::string &name : names)
      attribute.add_strings(name);
    EXPECT_THAT(refusal(maker), HasSubstr(reason));
  }
}

TEST(ImportRecurrent, OneProductBeforeAndOnePerTrip) {
  ModelMaker maker(17);
  maker.input("x", ElementType::F32, {4, 3, 2})
      .initializer("w", zeros({2, 20, 2}))
      .initializer("r", zeros({2, 20, 5}))
      .output("y");
  maker.node("LSTM", {"x", "w", "r"}, {"y"},
             {{"direction", std::string("bidirectional")}});
  PrimitiveGraph graph = imported(maker);
  auto products = [](const PrimitiveGraph &of) {
    return std::count_if(of.primitives.begin(), of.primitives.end(),
                         [](const Primitive &primitive) {
                           return primitive.kind == Primitive::Kind::Library;
                         });
  };
  EXPECT_EQ(products(graph), 1);
  int loops = 0;
  for (const Primitive &primitive : graph.primitives)
    if (primitive.kind == Primitive::Kind::Loop) {
      ++loops;
      EXPECT_EQ(primitive.loop->trips.value(), 4);
      EXPECT_EQ(products(primitive.loop->body), 1);
    }
  EXPECT_EQ(loops, 1); // both directions
}

} // namespace
