// The messages of an ONNX file, one function each, by their field numbers
// (those of the public schema, IR version 13). Unknown fields are skipped.
// Nested messages that occur twice are merged, as Protobuf prescribes, since
// every function adds to the struct that it is given.
#include "frontends/onnx/reader.h"

#include "frontends/onnx/tensor_decoder.h"

#include <filesystem>

namespace lockstitch::onnx {
namespace {

constexpr int kMaxDepth = 100; // as Protobuf's own parsers

class Decoder {
public:
  explicit Decoder(DecodeContext &context)
      : context(context), error(context.error) {}

  void model(Bytes message, Model &to) {
    each(message, [&](const WireField &f) {
      switch (f.number) {
      case 1:
        to.irVersion = f.asInt();
        break;
      case 2:
        to.producer = f.asString();
        break;
      case 3:
        to.producerVersion = f.asString();
        break;
      case 7:
        graph(f.bytes, to.graph);
        hasGraph = true;
        break;
      case 8:
        opset(f.bytes, to.opsets);
        break;
      case 14:
        keyValue(f.bytes, to.metadata);
        break;
      case 25:
        function(f.bytes, to.functions.emplace_back());
        break;
      default:
        break;
      }
    });
  }
  bool hasGraph = false;

private:
  template <typename F> void each(Bytes message, F handle) {
    WireReader reader(message, error);
    WireField field;
    if (++depth > kMaxDepth)
      error.set(message.data(),
                "messages are nested deeper than " + std::to_string(kMaxDepth));
    while (reader.next(field))
      handle(field);
    --depth;
  }

  void opset(Bytes message, std::map<std::string, int64_t> &to) {
    std::string domain;
    int64_t version = 0;
    each(message, [&](const WireField &f) {
      if (f.number == 1)
        domain = f.asString();
      else if (f.number == 2)
        version = f.asInt();
    });
    to[canonicalDomain(domain)] = version;
  }

  void keyValue(Bytes message, std::map<std::string, std::string> &to) {
    std::string key, value;
    each(message, [&](const WireField &f) {
      if (f.number == 1)
        key = f.asString();
      else if (f.number == 2)
        value = f.asString();
    });
    to[key] = value;
  }

  void graph(Bytes message, Graph &to) {
    each(message, [&](const WireField &f) {
      switch (f.number) {
      case 1:
        node(f.bytes, to.nodes.emplace_back());
        break;
      case 2:
        to.name = f.asString();
        break;
      case 5:
        decodeTensor(f.bytes, to.initializers.emplace_back(), context);
        break;
      case 11:
        valueInfo(f.bytes, to.inputs.emplace_back());
        break;
      case 12:
        valueInfo(f.bytes, to.outputs.emplace_back());
        break;
      case 13:
        valueInfo(f.bytes, to.valueInfos.emplace_back());
        break;
      case 15:
        to.sparseInitializers.push_back(sparseName(f.bytes));
        break;
      default:
        break;
      }
    });
  }

  std::string sparseName(Bytes message) {
    Tensor values;
    each(message, [&](const WireField &f) {
      if (f.number == 1)
        decodeTensor(f.bytes, values, context);
    });
    return values.name;
  }

  void node(Bytes message, Node &to) {
    each(message, [&](const WireField &f) {
      switch (f.number) {
      case 1:
        to.inputs.push_back(f.asString());
        break;
      case 2:
        to.outputs.push_back(f.asString());
        break;
      case 3:
        to.name = f.asString();
        break;
      case 4:
        to.opType = f.asString();
        break;
      case 5:
        attribute(f.bytes, to.attributes.emplace_back());
        break;
      case 7:
        to.domain = canonicalDomain(f.asString());
        break;
      case 8:
        to.overload = f.asString();
        break;
      default:
        break;
      }
    });
  }

  void attribute(Bytes message, Attribute &to) {
    std::vector<uint8_t> floats;
    Attribute::Kind guessed =
        Attribute::Kind::Undefined; // IR versions below 2 have no `type`
    auto tensor = [&](Bytes bytes) {
      auto result = std::make_shared<Tensor>();
      decodeTensor(bytes, *result, context);
      return result;
    };
    auto subgraph = [&](Bytes bytes) {
      auto result = std::make_shared<Graph>();
      graph(bytes, *result);
      to.graphs.push_back(std::move(result));
    };
    each(message, [&](const WireField &f) {
      switch (f.number) {
      case 1:
        to.name = f.asString();
        break;
      case 2:
        to.f = f.asFloat();
        guessed = Attribute::Kind::Float;
        break;
      case 3:
        to.i = f.asInt();
        guessed = Attribute::Kind::Int;
        break;
      case 4:
        to.s = f.asString();
        guessed = Attribute::Kind::String;
        break;
      case 5:
        to.tensor = tensor(f.bytes);
        guessed = Attribute::Kind::Tensor;
        break;
      case 6:
        subgraph(f.bytes);
        guessed = Attribute::Kind::Graph;
        break;
      case 7:
        appendFixed(f, 4, floats, error);
        guessed = Attribute::Kind::Floats;
        break;
      case 8:
        appendVarints(f, to.ints, error);
        guessed = Attribute::Kind::Ints;
        break;
      case 9:
        to.strings.push_back(f.asString());
        guessed = Attribute::Kind::Strings;
        break;
      case 10:
        to.tensors.push_back(tensor(f.bytes));
        guessed = Attribute::Kind::Tensors;
        break;
      case 11:
        subgraph(f.bytes);
        guessed = Attribute::Kind::Graphs;
        break;
      case 20:
        to.kind = static_cast<Attribute::Kind>(f.value);
        break;
      case 21:
        to.reference = f.asString();
        break;
      default:
        break;
      }
    });
    if (to.kind == Attribute::Kind::Undefined)
      to.kind = guessed;
    to.floats.resize(floats.size() / sizeof(float));
    if (!floats.empty())
      std::copy(floats.begin(), floats.end(),
                reinterpret_cast<uint8_t *>(to.floats.data()));
  }

  void valueInfo(Bytes message, ValueInfo &to) {
    each(message, [&](const WireField &f) {
      if (f.number == 1)
        to.name = f.asString();
      else if (f.number == 2)
        type(f.bytes, to);
    });
  }

  void type(Bytes message, ValueInfo &to) {
    each(message, [&](const WireField &f) {
      switch (f.number) {
      case 1:
        tensorType(f.bytes, to);
        break;
      case 4:
        to.notATensor = "sequence";
        break;
      case 5:
        to.notATensor = "map";
        break;
      case 8:
        to.notATensor = "sparse tensor";
        break;
      case 9:
        to.notATensor = "optional";
        break;
      default:
        break;
      }
    });
  }

  void tensorType(Bytes message, ValueInfo &to) {
    each(message, [&](const WireField &f) {
      if (f.number == 1) {
        to.dataType = static_cast<int32_t>(f.value);
      } else if (f.number == 2) {
        if (!to.shape)
          to.shape.emplace();
        each(f.bytes, [&](const WireField &dim) {
          if (dim.number == 1)
            dimension(dim.bytes, to.shape->emplace_back());
        });
      }
    });
  }

  void dimension(Bytes message, DeclaredDim &to) {
    each(message, [&](const WireField &f) {
      if (f.number == 1)
        to.value = f.asInt();
      else if (f.number == 2)
        to.symbol = f.asString();
    });
    if (to.value && *to.value < 0) // some exporters write -1 for "open"
      to.value.reset();
  }

  void function(Bytes message, Function &to) {
    each(message, [&](const WireField &f) {
      switch (f.number) {
      case 1:
        to.name = f.asString();
        break;
      case 4:
        to.inputs.push_back(f.asString());
        break;
      case 5:
        to.outputs.push_back(f.asString());
        break;
      case 6:
        to.attributes.push_back(f.asString());
        break;
      case 7:
        node(f.bytes, to.nodes.emplace_back());
        break;
      case 9:
        opset(f.bytes, to.opsets);
        break;
      case 10:
        to.domain = canonicalDomain(f.asString());
        break;
      case 11:
        attribute(f.bytes, to.attributeDefaults.emplace_back());
        break;
      case 13:
        to.overload = f.asString();
        break;
      default:
        break;
      }
    });
  }

  DecodeContext &context;
  WireError &error;
  int depth = 0;
};

/// The kind of file that `bytes` begin like, if it is one that people confuse
/// with a model.
std::string_view otherKindOfFile(Bytes bytes) {
  auto begins = [&](std::string_view magic) {
    return std::string_view(reinterpret_cast<const char *>(bytes.data()),
                            bytes.size())
        .starts_with(magic);
  };
  if (begins("\x89PNG"))
    return "a PNG image";
  if (begins("\xff\xd8\xff"))
    return "a JPEG image";
  if (begins("PK\x03\x04"))
    return "a ZIP archive (a PyTorch checkpoint?)";
  if (begins("\x1f\x8b"))
    return "a gzip archive";
  if (begins("\x89HDF"))
    return "an HDF5 file (a Keras model?)";
  if (begins("\x7f"
             "ELF"))
    return "a program";
  if (begins("\x93NUMPY"))
    return "a NumPy array";
  if (begins("version https://git-lfs"))
    return "a Git LFS pointer (the model itself was not fetched)";
  if (begins("<!DOCTYPE") || begins("<html"))
    return "a web page";
  return {};
}

DecodeContext makeContext(Bytes bytes, std::shared_ptr<const void> owner,
                          const std::string &path) {
  DecodeContext context;
  context.error.fileBegin = bytes.data();
  context.error.fileEnd = bytes.data() + bytes.size();
  context.owner = std::move(owner);
  if (!path.empty()) {
    context.folder = std::filesystem::path(path).parent_path().string();
    if (context.folder.empty())
      context.folder = ".";
  }
  return context;
}

} // namespace

Result<Model> readModelBytes(Bytes bytes, std::shared_ptr<const void> owner,
                             const std::string &path) {
  if (std::string_view kind = otherKindOfFile(bytes); !kind.empty())
    return Error::refused(
        path, "this is " + std::string(kind) + ", not an ONNX model",
        "give an .onnx file");
  DecodeContext context = makeContext(bytes, std::move(owner), path);
  Decoder decoder(context);
  Model model;
  decoder.model(bytes, model);
  if (context.error.failed()) {
    if (context.error.truncated && model.irVersion > 0 &&
        model.irVersion < 1000)
      return Error::refused(
          path, "the model is truncated: " + context.error.message,
          "it may not have been downloaded or written completely");
    return Error::refused(path,
                          "this is not an ONNX model, or it is damaged: " +
                              context.error.message,
                          "give an .onnx file");
  }
  if (!decoder.hasGraph)
    return Error::refused(path,
                          "there is no graph in this file, so it is not an "
                          "ONNX model or it is truncated",
                          "give an .onnx file");
  if (model.opsets.empty())
    return Error::refused(
        path,
        "the model does not say which operator sets it uses, so it is "
        "truncated or damaged",
        "it may not have been downloaded or written completely");
  return model;
}

Result<Model> readModelFile(const std::string &path) {
  auto file = MappedFile::open(path, "model");
  if (!file.ok())
    return file.error();
  return readModelBytes((*file)->bytes(), *file, path);
}

Result<Tensor> readTensorBytes(Bytes bytes, std::shared_ptr<const void> owner,
                               const std::string &path) {
  DecodeContext context = makeContext(bytes, std::move(owner), path);
  Tensor tensor;
  decodeTensor(bytes, tensor, context);
  if (context.error.failed())
    return Error::refused(path,
                          "this is not an ONNX tensor, or it is damaged: " +
                              context.error.message,
                          "give a TensorProto (.pb) or a NumPy array (.npy)");
  if (!tensor.problem.empty())
    return Error::refused(path, "the tensor cannot be used: " + tensor.problem);
  return tensor;
}

} // namespace lockstitch::onnx
