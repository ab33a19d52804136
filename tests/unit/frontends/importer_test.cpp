// What the importer does with whole models: shapes, names, folding, fates, and
// every message.
#include "model_maker.h"

#include <gmock/gmock.h>

using namespace lockstitch;
using namespace lockstitch::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::string refusal(const ModelMaker &maker,
                    const ImportOptions &options = {}) {
  auto graph = maker.import(options);
  if (graph.ok()) {
    ADD_FAILURE() << "this should have been refused";
    return {};
  }
  EXPECT_EQ(graph.error().kind, ErrorKind::Refused);
  return textOf(graph.error());
}

PrimitiveGraph imported(const ModelMaker &maker,
                        const ImportOptions &options = {}) {
  auto graph = maker.import(options);
  if (!graph.ok()) {
    ADD_FAILURE() << textOf(graph.error());
    return {};
  }
  return *graph;
}

std::vector<double> evaluated(const PrimitiveGraph &graph,
                              std::vector<HostTensor> inputs,
                              size_t output = 0) {
  auto outputs = evaluateGraph(graph, inputs);
  if (!outputs.ok()) {
    ADD_FAILURE() << textOf(outputs.error());
    return {};
  }
  return valuesOf((*outputs)[output]);
}

Origin::Fate fateOf(const PrimitiveGraph &graph, const std::string &node) {
  for (const Origin &origin : graph.origins)
    if (origin.node == node)
      return origin.fate;
  ADD_FAILURE() << "no node " << node;
  return Origin::Fate::Pending;
}

ModelMaker relu(std::vector<std::variant<int64_t, std::string>> dims) {
  ModelMaker maker;
  maker.input("x", ElementType::F32, dims).output("y");
  maker.node("Relu", {"x"}, {"y"}, {}, "act");
  return maker;
}

} // namespace

// --- Shapes of inputs

TEST(InputShapes, OpenDimensionsNameTheOptions) {
  EXPECT_EQ(refusal(relu({"batch", 3})),
            ": input 'x': its dimension 'batch' is open in [batch,3]; give "
            "--dim batch=N or --shape "
            "x=N,3, or the input itself\n");
  EXPECT_EQ(refusal(relu({"a", ""})),
            ": input 'x': its dimensions 'a', 'number 1' are open in [a,?]; "
            "give --shape x=N,N, or the "
            "input itself\n");
}

TEST(InputShapes, MinusOneIsOpen) {
  EXPECT_THAT(refusal(relu({-1})), HasSubstr("is open in [?]"));
}

TEST(InputShapes, ByDim) {
  ImportOptions options;
  options.dims["batch"] = 2;
  PrimitiveGraph graph = imported(relu({"batch", 3}), options);
  EXPECT_EQ(toString(graph.type(graph.inputs[0])), "f32[2x3]");
  EXPECT_EQ(graph.symbols[*graph.symbols.find("batch")].value, 2);
}

TEST(InputShapes, AShapeGivesValuesToSymbolsOfOtherInputs) {
  ModelMaker maker;
  maker.input("a", ElementType::F32, {"n"})
      .input("b", ElementType::F32, {"n"})
      .output("y");
  maker.node("Add", {"a", "b"}, {"y"});
  ImportOptions options;
  options.shapes["b"] = {5};
  PrimitiveGraph graph = imported(maker, options);
  EXPECT_EQ(toString(graph.type(graph.inputs[0])), "f32[5]");
  options.shapes["a"] = {4};
  EXPECT_THAT(
      refusal(maker, options),
      HasSubstr("input 'b': the dimension 'n' is 5 here, but 4 elsewhere"));
}

TEST(InputShapes, WrongNamesAndShapes) {
  ImportOptions options;
  options.shapes["z"] = {1};
  options.dims["len"] = 1;
  std::string text = refusal(relu({"batch", 3}), options);
  EXPECT_THAT(
      text,
      HasSubstr("--shape z: the model has no input 'z'; its inputs: 'x'"));
  EXPECT_THAT(text, HasSubstr("--dim len: the model has no dimension 'len'; "
                              "its open dimensions: 'batch'"));
  EXPECT_THAT(text, HasSubstr("its dimension 'batch' is open")); // all at once

  options = {};
  options.shapes["x"] = {2, 4};
  EXPECT_THAT(
      refusal(relu({"batch", 3}), options),
      HasSubstr(
          "input 'x': the shape [2,4] does not fit the declared [batch,3]"));
  options.shapes["x"] = {2};
  EXPECT_THAT(refusal(relu({"batch", 3}), options),
              HasSubstr("the shape [2] does not fit the declared [batch,3]"));
  options.shapes["x"] = {-2, 3};
  EXPECT_THAT(refusal(relu({"batch", 3}), options),
              HasSubstr("a dimension of the shape [-2,3] is negative"));
  options = {};
  options.dims["batch"] = -1;
  EXPECT_THAT(refusal(relu({"batch", 3}), options),
              HasSubstr("--dim batch: a dimension cannot be -1"));
}

TEST(InputShapes, UnknownRankAndTypes) {
  ModelMaker maker = relu({});
  maker.proto.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->clear_shape();
  EXPECT_THAT(
      refusal(maker),
      HasSubstr(
          "the model does not say which shape it has; give --shape x=N,N,..."));
  ImportOptions options;
  options.shapes["x"] = {2, 2};
  EXPECT_EQ(toString(imported(maker, options).type(0)), "f32[2x2]");
  ModelMaker strings = relu({1});
  strings.proto.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->set_elem_type(8);
  EXPECT_THAT(refusal(strings),
              HasSubstr("input 'x': its type string is not supported"));
  ModelMaker sequence = relu({1});
  sequence.proto.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_sequence_type();
  EXPECT_THAT(refusal(sequence),
              HasSubstr("input 'x': its type sequence is not supported"));
}

TEST(InputValues, MaySteerShapes) {
  ModelMaker maker(17);
  maker.input("x", ElementType::F32, {2, 3})
      .input("axes", ElementType::I64, {1})
      .output("y");
  maker.node("ReduceSum", {"x", "axes"}, {"y"}, {{"keepdims", int64_t(0)}});
  ImportOptions options;
  options.values["axes"] = ints({1});
  PrimitiveGraph graph = imported(maker, options);
  EXPECT_EQ(graph.inputs.size(), 2u);
  EXPECT_THAT(evaluated(graph, {f32({2, 3}, {1, 2, 3, 4, 5, 6}), ints({1})}),
              ElementsAre(6, 15));
  options.values["axes"] = ints({0, 1});
  EXPECT_THAT(refusal(maker, options),
              HasSubstr("input 'axes': the known value is i64[2], not i64[1]"));
}

// --- Refusals

TEST(ImporterRefuses, EveryUnsupportedNodeAtOnce) {
  ModelMaker maker(17);
  maker.input("x", ElementType::F32, {2, 3}).output("y");
  ::onnx::OperatorSetIdProto &other = *maker.proto.add_opset_import();
  other.set_domain("com.example");
  other.set_version(1);
  maker.node("Frobnicate", {"x"}, {"a"}, {}, "odd_one")
      .set_domain("com.example");
  maker.node("Neg", {"a"}, {"b"});
  maker.node("NonMaxSuppression", {"b"}, {"y"});
  EXPECT_EQ(refusal(maker),
            "odd_one: com.example::Frobnicate-1 (f32[2x3]): the operator "
            "com.example::Frobnicate is not supported; "
            "lockstitch inspect lists every operator with its support\n"
            "NonMaxSuppression#0: NonMaxSuppression-17 (?): the operator "
            "NonMaxSuppression is not supported; "
            "lockstitch inspect lists every operator with its support\n");
}

TEST(ImporterRefuses, UnsupportedOperatorsAreNamedBesideOpenDimensions) {
  ModelMaker maker = relu({"n"});
  maker.output("z");
  maker.node("Frobnicate", {"y"}, {"z"});
  std::string text = refusal(maker);
  EXPECT_THAT(text, HasSubstr("'n' is open"));
  EXPECT_THAT(
      text,
      HasSubstr("Frobnicate-17 (?): the operator Frobnicate is not supported"));
}

TEST(ImporterRefuses, AnOperatorSetThatIsNotImported) {
  ModelMaker maker = relu({2});
  maker.proto.mutable_graph()->mutable_node(0)->set_domain("com.microsoft");
  EXPECT_THAT(refusal(maker),
              HasSubstr("does not import the operator set 'com.microsoft'"));
}

TEST(ImporterRefuses, AFormOfAnOpsetThatIsTooOld) {
  ModelMaker maker(6);
  maker.input("x", ElementType::F32, {2}).output("y");
  maker.node("Add", {"x", "x"}, {"y"});
  EXPECT_THAT(
      refusal(maker),
      HasSubstr("the operator Add is not supported in the form of opset 6"));
}

TEST(ImporterRefuses, UndefinedAndUncomputedNames) {
  ModelMaker maker = relu({2});
  maker.output("z");
  maker.node("Neg", {"nothing"}, {"w"}, {}, "minus");
  maker.output("w");
  std::string text = refusal(maker);
  EXPECT_THAT(text, HasSubstr("minus: Neg-17: its input 'nothing' is not "
                              "computed by anything before it"));
  EXPECT_THAT(text, HasSubstr("output 'z': nothing in the model computes it"));
}

TEST(ImporterRefuses, ModelWithoutOutputs) {
  ModelMaker maker = relu({2});
  maker.proto.mutable_graph()->clear_output();
  EXPECT_THAT(refusal(maker), HasSubstr("the model has no outputs"));
}

TEST(ImporterRefuses, DamagedInitializersThatAreUsed) {
  ModelMaker maker = relu({2});
  maker.initializer("w", f32({2}, {1, 2})).output("z");
  maker.node("Add", {"x", "w"}, {"z"});
  maker.proto.mutable_graph()->mutable_initializer(0)->set_raw_data("x");
  EXPECT_THAT(
      refusal(maker),
      HasSubstr(
          "initialiser 'w': its shape [2] of f32 needs 8 bytes, but it has 1"));
  maker.proto.mutable_graph()->mutable_initializer(0)->set_data_type(
      ::onnx::TensorProto::STRING);
  EXPECT_THAT(
      refusal(maker),
      HasSubstr("initialiser 'w': its element type string is not supported"));
  maker.proto.mutable_graph()->mutable_initializer(0)->set_name("unused");
  maker.proto.mutable_graph()->mutable_node(1)->set_input(1, "x");
  EXPECT_TRUE(maker.import().ok()) << "nothing uses it any more";
}

TEST(ImporterRefuses, SparseInitializers) {
  ModelMaker maker = relu({2});
  maker.proto.mutable_graph()
      ->add_sparse_initializer()
      ->mutable_values()
      ->set_name("w");
  maker.output("z");
  maker.node("Add", {"x", "w"}, {"z"});
  EXPECT_THAT(
      refusal(maker),
      HasSubstr("initialiser 'w': sparse initialisers are not supported"));
}

TEST(ImporterRefuses, OutputsThatARuleDoesNotHave) {
  EXPECT_THAT(refusalOf("MaxPool", 17, {f32({1, 1, 2}, {1, 2})},
                        {{"kernel_shape", std::vector<int64_t>{2}}}, 2),
              HasSubstr("its output 1 ('y1') is not supported"));
}

// --- Names

TEST(NodeIds, AreNamesWhereThoseAreUnique) {
  ModelMaker maker(17);
  maker.input("x", ElementType::F32, {2}).output("y");
  maker.node("Neg", {"x"}, {"a"}, {}, "first");
  maker.node("Neg", {"a"}, {"b"}, {}, "twice");
  maker.node("Abs", {"b"}, {"c"}, {}, "twice");
  maker.node("Neg", {"c"}, {"y"});
  auto model = maker.read();
  ASSERT_TRUE(model.ok());
  std::vector<std::string> ids;
  for (const OnnxNodeInfo &node : model->nodes)
    ids.push_back(node.id);
  EXPECT_THAT(ids, ElementsAre("first", "Neg#1", "Abs#0", "Neg#2"));
  EXPECT_EQ(model->findNode("Neg#0")->id, "first");
  EXPECT_EQ(model->findNode("first")->alias, "Neg#0");
  EXPECT_EQ(model->findNode("none"), nullptr);
  PrimitiveGraph graph = imported(maker);
  EXPECT_EQ(graph.primitives[1].name, "Neg#1/0");
}

TEST(NodeIds, InBodiesFollowTheirParent) {
  ModelMaker maker(17);
  maker.input("x", ElementType::F32, {2})
      .initializer("c", tensor(ElementType::Bool, {}, {1}))
      .output("y");
  ::onnx::NodeProto &conditional = maker.node("If", {"c"}, {"y"}, {}, "choose");
  for (const char *branch : {"then_branch", "else_branch"}) {
    ::onnx::AttributeProto &attribute = *conditional.add_attribute();
    attribute.set_name(branch);
    attribute.set_type(::onnx::AttributeProto::GRAPH);
    ::onnx::NodeProto &node = *attribute.mutable_g()->add_node();
    node.set_op_type(branch[0] == 't' ? "Neg" : "Abs");
    node.add_input("x"); // captured
    node.add_output("r");
    attribute.mutable_g()->add_output()->set_name("r");
  }
  PrimitiveGraph graph = imported(maker);
  ASSERT_EQ(graph.primitives.size(), 1u);
  EXPECT_EQ(graph.primitives[0].name, "choose/then_branch/Neg#0/0");
  EXPECT_THAT(evaluated(graph, {f32({2}, {1, -2})}), ElementsAre(-1, 2));
  EXPECT_EQ(fateOf(graph, "choose"), Origin::Fate::Folded);
  EXPECT_EQ(fateOf(graph, "choose/else_branch/Abs#0"), Origin::Fate::Dead);

  // A condition that is an input: both branches, and a select.
  maker.proto.mutable_graph()->clear_initializer();
  maker.input("c", ElementType::Bool, {});
  graph = imported(maker);
  EXPECT_EQ(fateOf(graph, "choose/else_branch/Abs#0"), Origin::Fate::Primitive);
  HostTensor x = f32({2}, {1, -2});
  EXPECT_THAT(evaluated(graph, {x, tensor(ElementType::Bool, {}, {1})}),
              ElementsAre(-1, 2));
  EXPECT_THAT(evaluated(graph, {x, tensor(ElementType::Bool, {}, {0})}),
              ElementsAre(1, 2));
}

// --- Folding and fates

TEST(Folding, ShapeArithmeticDisappears) {
  // Reshape(x, Concat(Unsqueeze(Gather(Shape(x), 0)), [-1])), as exporters
  // write it.
  ModelMaker maker(17);
  maker.input("x", ElementType::F32, {2, 3, 4}).output("y");
  maker.initializer("zero", i64({}, {0}))
      .initializer("axis", i64({1}, {0}))
      .initializer("rest", i64({1}, {-1}));
  maker.node("Shape", {"x"}, {"s"}, {}, "shape");
  maker.node("Gather", {"s", "zero"}, {"g"}, {}, "gather");
  maker.node("Unsqueeze", {"g", "axis"}, {"u"}, {}, "unsqueeze");
  maker.node("Concat", {"u", "rest"}, {"c"}, {{"axis", int64_t(0)}}, "concat");
  maker.node("Reshape", {"x", "c"}, {"y"}, {}, "reshape");
  PrimitiveGraph graph = imported(maker);
  ASSERT_EQ(graph.primitives.size(), 1u);
  EXPECT_TRUE(isReshape(graph, graph.primitives[0]));
  for (const char *node : {"shape", "gather", "unsqueeze", "concat"})
    EXPECT_EQ(fateOf(graph, node), Origin::Fate::Folded) << node;
  EXPECT_EQ(fateOf(graph, "reshape"), Origin::Fate::Primitive);
  EXPECT_EQ(toString(graph.type(graph.outputs[0])), "f32[2x12]");
}

TEST(Folding, OfFloatsIsDoneInTheirOwnPrecision) {
  ModelMaker maker(17);
  maker.initializer("a", f32({}, {16777216}))
      .initializer("b", f32({}, {1}))
      .output("y");
  maker.node("Add", {"a", "b"}, {"s"});
  maker.node("Sub", {"s", "a"}, {"y"});
  PrimitiveGraph graph = imported(maker);
  EXPECT_TRUE(graph.primitives.empty());
  EXPECT_THAT(evaluated(graph, {}), ElementsAre(0)); // 2^24 + 1 is 2^24 in f32
}

TEST(Folding, LeavesLargeFloatsAlone) {
  ModelMaker maker(17);
  maker.initializer("w", f32({100}, std::vector<double>(100, 2))).output("y");
  maker.node("Sqrt", {"w"}, {"y"});
  EXPECT_EQ(imported(maker).primitives.size(), 1u);
}

TEST(Folding, AReshapedWeightIsTheSameBytes) {
  ModelMaker maker(17);
  std::vector<double> weights(100, 2);
  weights.back() = 3; // equal ones would become a constant of the body
  maker.input("x", ElementType::F32, {10, 10})
      .initializer("w", f32({100}, weights))
      .output("y");
  maker.initializer("shape", i64({2}, {10, 10}));
  maker.node("Reshape", {"w", "shape"}, {"m"}, {}, "view");
  maker.node("Add", {"x", "m"}, {"y"});
  auto model = maker.read();
  ASSERT_TRUE(model.ok());
  auto graph = importModel(*model, {});
  ASSERT_TRUE(graph.ok());
  ASSERT_EQ(graph->primitives.size(), 1u);
  ASSERT_EQ(graph->primitives[0].operands.size(), 2u);
  EXPECT_EQ(graph->values[graph->primitives[0].operands[1]].constant.data,
            model->file->graph.initializers[0].data.data);
  EXPECT_EQ(fateOf(*graph, "view"), Origin::Fate::Folded);
}

TEST(Folding, ScalarsBecomePartOfTheBody) {
  ModelMaker maker(17);
  maker.input("x", ElementType::F32, {3})
      .initializer("two", f32({1}, {2}))
      .output("y");
  maker.node("Mul", {"x", "two"}, {"y"});
  PrimitiveGraph graph = imported(maker);
  ASSERT_EQ(graph.primitives.size(), 1u);
  EXPECT_EQ(graph.primitives[0].operands.size(), 1u);
}

TEST(Fates, DeadNodesNeedNoSupport) {
  ModelMaker maker = relu({2});
  maker.node("Frobnicate", {"x"}, {"unused"}, {}, "dead");
  PrimitiveGraph graph = imported(maker);
  EXPECT_EQ(fateOf(graph, "dead"), Origin::Fate::Dead);
  EXPECT_EQ(fateOf(graph, "act"), Origin::Fate::Primitive);
}

TEST(Fates, NodesThatOnlyMadeAShapeAreDead) {
  ModelMaker maker(17);
  maker.input("x", ElementType::F32, {2, 3}).output("y", ElementType::I64);
  maker.node("Transpose", {"x"}, {"t"}, {}, "turn");
  maker.node("Shape", {"t"}, {"y"}, {}, "shape");
  PrimitiveGraph graph = imported(maker);
  EXPECT_TRUE(graph.primitives.empty());
  EXPECT_EQ(fateOf(graph, "turn"), Origin::Fate::Dead);
  EXPECT_EQ(fateOf(graph, "shape"), Origin::Fate::Folded);
  EXPECT_THAT(evaluated(graph, {f32({2, 3}, {1, 2, 3, 4, 5, 6})}),
              ElementsAre(3, 2));
}

TEST(Fates, NoNodeIsLeftPending) {
  ModelMaker maker = relu({2, 3});
  maker.output("z");
  maker.node("Constant", {}, {"k"}, {{"value", f32({}, {3})}}, "constant");
  maker.node("Identity", {"y"}, {"i"}, {}, "identity");
  maker.node("Add", {"i", "k"}, {"z"}, {}, "add");
  PrimitiveGraph graph = imported(maker);
  for (const Origin &origin : graph.origins)
    EXPECT_NE(origin.fate, Origin::Fate::Pending) << origin.node;
  EXPECT_EQ(fateOf(graph, "identity"), Origin::Fate::Folded);
  EXPECT_EQ(fateOf(graph, "constant"), Origin::Fate::Folded);
  for (const Origin &origin : graph.origins)
    EXPECT_EQ(origin.isConstantNode, origin.node == "constant");
}

// --- Plumbing

TEST(Outputs, MayBeInputsConstantsAndTheSameValueTwice) {
  ModelMaker maker(17);
  maker.input("x", ElementType::F32, {2})
      .input("unused", ElementType::I8, {0})
      .initializer("w", f32({1}, {5}));
  maker.node("Neg", {"x"}, {"n"});
  maker.node("Identity", {"n"}, {"m"});
  for (const char *name : {"x", "w", "n", "m", "n"})
    maker.output(name);
  PrimitiveGraph graph = imported(maker);
  EXPECT_EQ(graph.inputs.size(), 2u);
  EXPECT_THAT(graph.outputNames, ElementsAre("x", "w", "n", "m", "n"));
  std::vector<HostTensor> inputs = {f32({2}, {1, 2}),
                                    tensor(ElementType::I8, {0}, {})};
  EXPECT_THAT(evaluated(graph, inputs, 0), ElementsAre(1, 2));
  EXPECT_THAT(evaluated(graph, inputs, 1), ElementsAre(5));
  for (size_t i : {2, 3, 4})
    EXPECT_THAT(evaluated(graph, inputs, i), ElementsAre(-1, -2));
}

TEST(Inputs, InitializersThatAreAlsoInputsAreConstants) {
  ModelMaker maker(9);
  maker.input("x", ElementType::F32, {2})
      .input("w", ElementType::F32, {2})
      .initializer("w", f32({2}, {3, 4}))
      .output("y");
  maker.node("Mul", {"x", "w"}, {"y"});
  auto model = maker.read();
  ASSERT_TRUE(model.ok());
  ASSERT_EQ(model->inputs.size(), 1u);
  EXPECT_THAT(evaluated(imported(maker), {f32({2}, {1, 2})}),
              ElementsAre(3, 8));
}

TEST(Functions, AreLoweredInPlace) {
  ModelMaker maker(17);
  maker.input("x", ElementType::F32, {2}).output("y");
  ::onnx::OperatorSetIdProto &import = *maker.proto.add_opset_import();
  import.set_domain("local");
  import.set_version(1);
  ::onnx::FunctionProto &function = *maker.proto.add_functions();
  function.set_domain("local");
  function.set_name("Scaled");
  function.add_input("a");
  function.add_input("left_out");
  function.add_output("r");
  function.add_attribute("slope");
  function.add_opset_import()->set_version(17);
  ::onnx::NodeProto &inner = *function.add_node();
  inner.set_op_type("LeakyRelu");
  inner.add_input("a");
  inner.add_output("t");
  inner.add_attribute()->set_name("alpha");
  inner.mutable_attribute(0)->set_ref_attr_name("slope");
  inner.mutable_attribute(0)->set_type(::onnx::AttributeProto::FLOAT);
  ::onnx::NodeProto &clip = *function.add_node();
  clip.set_op_type("Clip");
  for (const char *name : {"t", "", "left_out"})
    clip.add_input(name);
  clip.add_output("r");
  maker.node("Scaled", {"x"}, {"y"}, {{"slope", 0.5}}, "call")
      .set_domain("local");
  PrimitiveGraph graph = imported(maker);
  EXPECT_THAT(evaluated(graph, {f32({2}, {-4, 4})}), ElementsAre(-2, 4));
  ASSERT_EQ(graph.origins.size(), 1u);
  for (const Primitive &primitive : graph.primitives)
    EXPECT_EQ(primitive.name.substr(0, 5), "call/");

  auto model = maker.read();
  ASSERT_TRUE(model.ok());
  EXPECT_TRUE(checkSupport(*model)[0].supported);
  function.mutable_node(0)->set_op_type("Frobnicate");
  model = maker.read();
  EXPECT_FALSE(checkSupport(*model)[0].supported);
  EXPECT_THAT(
      checkSupport(*model)[0].reason,
      HasSubstr(
          "in the model's function of this name: the operator Frobnicate"));
  EXPECT_THAT(refusal(maker),
              HasSubstr("call: Frobnicate-17 in the function Scaled (f32[2]): "
                        "the operator Frobnicate"));
}

TEST(Functions, ThatCallThemselvesAreRefused) {
  ModelMaker maker(17);
  maker.input("x", ElementType::F32, {2}).output("y");
  maker.proto.add_opset_import()->set_domain("local");
  maker.proto.mutable_opset_import(1)->set_version(1);
  ::onnx::FunctionProto &function = *maker.proto.add_functions();
  function.set_domain("local");
  function.set_name("F");
  function.add_input("a");
  function.add_output("r");
  function.add_opset_import()->set_domain("local");
  function.mutable_opset_import(0)->set_version(1);
  ::onnx::NodeProto &inner = *function.add_node();
  inner.set_op_type("F");
  inner.set_domain("local");
  inner.add_input("a");
  inner.add_output("r");
  maker.node("F", {"x"}, {"y"}, {}, "call").set_domain("local");
  EXPECT_THAT(refusal(maker),
              HasSubstr("the model's functions call each other without end"));
}

TEST(Support, ListsEveryOperatorOnce) {
  ModelMaker maker(17);
  maker.input("x", ElementType::F32, {"open"}).output("y");
  maker.node("Neg", {"x"}, {"a"}, {}, "one");
  maker.node("Neg", {"a"}, {"b"}, {}, "two");
  maker.node("Frobnicate", {"b"}, {"y"});
  auto model = maker.read();
  ASSERT_TRUE(model.ok());
  std::vector<OperatorSupport> support = checkSupport(*model);
  ASSERT_EQ(support.size(), 2u);
  EXPECT_EQ(support[0].opType, "Frobnicate");
  EXPECT_FALSE(support[0].supported);
  EXPECT_EQ(support[0].reason, "the operator Frobnicate is not supported");
  EXPECT_TRUE(support[1].supported);
  EXPECT_THAT(support[1].nodes, ElementsAre("one", "two"));
  EXPECT_EQ(support[1].opset, 17);
}

TEST(Importer, LongChainsAreNoProblem) {
  ModelMaker maker(17);
  maker.input("x", ElementType::F32, {2}).output("v20000");
  maker.initializer("s", i64({1}, {2}));
  maker.node("Neg", {"x"}, {"v0"});
  for (int i = 0; i < 20000; ++i)
    maker.node(i % 2 ? "Neg" : "Abs", {"v" + std::to_string(i)},
               {"v" + std::to_string(i + 1)});
  EXPECT_EQ(imported(maker).primitives.size(), 20001u);
}
