// Operators that only say where an element lies: reshapes, permutations,
// broadcasts.
#include "frontends/onnx/node_context.h"
#include "frontends/onnx/rules.h"

#include <algorithm>

namespace lockstitch::onnx {
namespace {

int64_t product(const Extents &extents) {
  int64_t result = 1;
  for (int64_t extent : extents)
    result *= extent;
  return result;
}

void identity(NodeContext &c) { c.setOutput(0, c.input(0)); }

/// In inference: the input as it is, and a mask of ones.
void dropout(NodeContext &c) {
  if (c.opset >= 12 && c.has(2)) {
    std::vector<int64_t> training = c.constantInts(2, "training_mode");
    if (!training.empty() && training[0])
      c.refuse("training mode is not supported",
               "export the model for inference");
  }
  c.setOutput(0, c.input(0));
  if (!c.wantsOutput(1))
    return;
  BodyBuilder mask(c.graph, c.shape(0));
  ElementType type = c.opset < 10 ? c.element(0) : ElementType::Bool;
  c.setOutput(1, mask.pull(mask.b.constant(type, 1), type));
}

void reshapeRule(NodeContext &c) {
  Extents from = c.extents(0);
  std::optional<std::vector<int64_t>> wanted = c.intsFrom("shape", 1, 5);
  if (!wanted)
    c.refuse("it does not say which shape to give");
  Extents to = *wanted;
  bool allowZero = c.opset >= 14 && c.attrInt("allowzero", 0);
  int64_t known = 1, open = -1;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == 0 && !allowZero) {
      if (i >= from.size())
        c.refuse("the shape " + toString(*wanted) + " copies dimension " +
                 std::to_string(i) + ", which " + toString(from) +
                 " does not have");
      to[i] = from[i];
    }
    if (to[i] == -1 && open < 0)
      open = i;
    else if (to[i] < 0)
      c.refuse("the shape " + toString(*wanted) + " is not possible");
    else
      known *= to[i];
  }
  int64_t total = product(from);
  if (open >= 0) {
    if (known == 0 ? total != 0 : total % known != 0)
      c.refuse("a tensor of " + toString(from) + " cannot have the shape " +
               toString(*wanted));
    to[open] = known == 0 ? 0 : total / known;
  }
  if (product(to) != total)
    c.refuse("a tensor of " + toString(from) + " cannot have the shape " +
             toString(*wanted));
  c.setOutput(0, reshape(c.graph, c.input(0), to));
}

void flatten(NodeContext &c) {
  Extents from = c.extents(0);
  int64_t rank = c.rank(0), axis = c.attrInt("axis", 1);
  if (axis < -rank || axis > rank)
    c.refuse("axis " + std::to_string(axis) +
             " is not possible for a tensor of rank " + std::to_string(rank));
  axis = axis < 0 ? axis + rank : axis;
  Extents to = {product({from.begin(), from.begin() + axis}),
                product({from.begin() + axis, from.end()})};
  c.setOutput(0, reshape(c.graph, c.input(0), to));
}

void squeeze(NodeContext &c) {
  Extents from = c.extents(0), to;
  std::optional<std::vector<int64_t>> given = c.intsFrom("axes", 1, 13);
  std::vector<int64_t> axes;
  if (given)
    axes = c.axes(*given, c.rank(0));
  else
    for (size_t i = 0; i < from.size(); ++i)
      if (from[i] == 1)
        axes.push_back(i);
  for (size_t i = 0; i < from.size(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i)))
      to.push_back(from[i]);
    else if (from[i] != 1)
      c.refuse("dimension " + std::to_string(i) + " of " + toString(from) +
               " is not 1");
  }
  c.setOutput(0, reshape(c.graph, c.input(0), to));
}

void unsqueeze(NodeContext &c) {
  Extents from = c.extents(0), to;
  std::optional<std::vector<int64_t>> given = c.intsFrom("axes", 1, 13);
  if (!given)
    c.refuse("it does not say which axes to insert");
  int64_t rank = c.rank(0) + static_cast<int64_t>(given->size());
  std::vector<int64_t> axes = c.axes(*given, rank);
  size_t next = 0;
  for (int64_t i = 0; i < rank; ++i)
    to.push_back(
        std::binary_search(axes.begin(), axes.end(), i) ? 1 : from[next++]);
  c.setOutput(0, reshape(c.graph, c.input(0), to));
}

void transposeRule(NodeContext &c) {
  int64_t rank = c.rank(0);
  std::vector<int64_t> permutation;
  if (auto given = c.attrInts("perm")) {
    permutation = *given;
    std::vector<int64_t> sorted = permutation;
    std::sort(sorted.begin(), sorted.end());
    bool valid = static_cast<int64_t>(sorted.size()) == rank;
    for (int64_t i = 0; i < rank && valid; ++i)
      valid = sorted[i] == i;
    if (!valid)
      c.refuse("perm " + toString(permutation) +
               " is no permutation of the axes of a tensor of rank " +
               std::to_string(rank));
  } else {
    for (int64_t i = rank; i-- > 0;)
      permutation.push_back(i);
  }
  c.setOutput(0, transpose(c.graph, c.input(0), permutation));
}

void expandRule(NodeContext &c) {
  // Broadcasts both ways: a 1 in the shape keeps the input's extent.
  Extents from = c.extents(0), to = c.constantInts(1, "shape");
  if (to.size() < from.size())
    to.insert(to.begin(), from.size() - to.size(), 1);
  size_t offset = to.size() - from.size();
  for (size_t i = 0; i < to.size(); ++i) {
    int64_t extent = i < offset ? 1 : from[i - offset];
    if (to[i] < 0 || (to[i] != 1 && extent != 1 && to[i] != extent))
      c.refuse("a tensor of " + toString(from) + " does not broadcast to " +
               toString(to));
    to[i] = to[i] == 1 ? extent : to[i];
  }
  c.setOutput(0, expand(c.graph, c.input(0), to));
}

void tile(NodeContext &c) {
  Extents from = c.extents(0), repeats = c.constantInts(1, "repeats"), to;
  if (repeats.size() != from.size())
    c.refuse("repeats should have one number per dimension");
  for (size_t i = 0; i < from.size(); ++i) {
    if (repeats[i] < 0)
      c.refuse("a dimension cannot be repeated " + std::to_string(repeats[i]) +
               " times");
    to.push_back(from[i] * repeats[i]);
  }
  if (to == from)
    return c.setOutput(0, c.input(0));
  BodyBuilder body(c.graph, toShape(to));
  std::vector<IndexExpr> at;
  for (size_t i = 0; i < from.size(); ++i)
    at.push_back(from[i] <= 1 ? IndexExpr::constant(0)
                              : mod(IndexExpr::dim(i), from[i]));
  c.setOutput(0, body.pull(body.read(c.input(0), at), c.element(0)));
}

/// [N, C, H, W] and a block: channels become positions (or the other way
/// round); one index map either way.
void depthToSpace(NodeContext &c) {
  Extents from = c.extents(0);
  int64_t block = c.attrInt("blocksize");
  if (from.size() != 4 || block <= 0 || from[1] % (block * block))
    c.refuse("a tensor of " + toString(from) +
             " cannot be spread in blocks of " + std::to_string(block));
  bool columnsFirst = c.attrString("mode", "DCR") == "CRD";
  int64_t channels = from[1] / (block * block);
  BodyBuilder body(
      c.graph, toShape({from[0], channels, from[2] * block, from[3] * block}));
  IndexExpr ch = IndexExpr::dim(1), y = IndexExpr::dim(2),
            x = IndexExpr::dim(3);
  IndexExpr within = mod(y, block) * IndexExpr::constant(block) + mod(x, block);
  IndexExpr channel = columnsFirst
                          ? ch * IndexExpr::constant(block * block) + within
                          : within * IndexExpr::constant(channels) + ch;
  c.setOutput(0, body.pull(body.read(c.input(0),
                                     {IndexExpr::dim(0), channel,
                                      floorDiv(y, block), floorDiv(x, block)}),
                           c.element(0)));
}

void spaceToDepth(NodeContext &c) {
  Extents from = c.extents(0);
  int64_t block = c.attrInt("blocksize");
  if (from.size() != 4 || block <= 0 || from[2] % block || from[3] % block)
    c.refuse("a tensor of " + toString(from) +
             " cannot be gathered in blocks of " + std::to_string(block));
  BodyBuilder body(c.graph, toShape({from[0], from[1] * block * block,
                                     from[2] / block, from[3] / block}));
  int64_t channels = std::max<int64_t>(from[1], 1);
  bool columnsFirst = c.attrString("mode", "DCR") == "CRD";
  IndexExpr d = IndexExpr::dim(1), size = IndexExpr::constant(block);
  IndexExpr within =
      columnsFirst ? mod(d, block * block) : floorDiv(d, channels);
  IndexExpr channel =
      columnsFirst ? floorDiv(d, block * block) : mod(d, channels);
  ScalarId element =
      body.read(c.input(0), {IndexExpr::dim(0), channel,
                             IndexExpr::dim(2) * size + floorDiv(within, block),
                             IndexExpr::dim(3) * size + mod(within, block)});
  c.setOutput(0, body.pull(element, c.element(0)));
}

constexpr Rule kRules[] = {
    {"DepthToSpace", 1, kNewest, depthToSpace},
    {"Dropout", 7, kNewest, dropout},
    {"Expand", 8, kNewest, expandRule},
    {"Flatten", 1, kNewest, flatten},
    {"Identity", 1, kNewest, identity},
    {"Reshape", 1, kNewest, reshapeRule},
    {"SpaceToDepth", 1, kNewest, spaceToDepth},
    {"Squeeze", 1, kNewest, squeeze},
    {"Tile", 6, kNewest, tile},
    {"Transpose", 1, kNewest, transposeRule},
    {"Unsqueeze", 1, kNewest, unsqueeze},
};

} // namespace

std::span<const Rule> viewRules() { return kRules; }

} // namespace lockstitch::onnx
