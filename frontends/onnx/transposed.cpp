// ConvTranspose and Col2Im: each element of the result gathers what a forward pass would have spread to it.
//
// Along one dimension, tap t of the kernel brings input position i to i*stride + t*dilation - pad. So the element at o takes,
// for each t, the input at (o + pad - t*dilation) / stride, where that divides and lies inside: a constraint of the read. The
// taps (and a convolution's channels) are the folded dimensions of one Reduce. No library is asked.
#include "frontends/onnx/rules.h"
#include "frontends/onnx/spatial.h"

#include <algorithm>

namespace lockstitch::onnx {
namespace {

using Op = ScalarOpcode;

/// The geometry of all spatial dimensions.
struct Spread {
  Extents input, kernel, output;
  std::vector<int64_t> strides, dilations, pads; // at the beginning
};

void requirePositive(const NodeContext &c, const Spread &s) {
  for (size_t i = 0; i < s.kernel.size(); ++i)
    if (s.strides[i] < 1 || s.dilations[i] < 1 || s.kernel[i] < 1)
      c.refuse("strides, dilations and the kernel should be positive");
}

/// Where tap Dim(`tap`) takes the element at Dim(`at`) from, and when.
IndexExpr sourceOf(const Spread &s, size_t i, unsigned at, unsigned tap,
                   std::vector<IndexConstraint> &constraints) {
  IndexExpr place = IndexExpr::dim(at) + IndexExpr::constant(s.pads[i]) -
                    IndexExpr::dim(tap) * IndexExpr::constant(s.dilations[i]);
  if (s.strides[i] > 1)
    constraints.push_back({mod(place, s.strides[i]), 0, 0});
  IndexExpr source = s.strides[i] > 1 ? floorDiv(place, s.strides[i]) : place;
  constraints.push_back({source, 0, s.input[i] - 1});
  return source;
}

Spread spreadOfConvolution(const NodeContext &c, const Extents &kernel) {
  Spread s;
  Extents from = c.extents(0);
  size_t rank = kernel.size();
  s.input.assign(from.begin() + 2, from.end());
  s.kernel = kernel;
  s.strides = listOf(c, "strides", rank, 1);
  s.dilations = listOf(c, "dilations", rank, 1);
  requirePositive(c, s);
  std::vector<int64_t> pads = listOf(c, "pads", 2 * rank, 0),
                       more = listOf(c, "output_padding", rank, 0);
  std::string autoPad = c.attrString("auto_pad", "NOTSET");
  bool isUpper = autoPad == "SAME_UPPER", isLower = autoPad == "SAME_LOWER";
  if (!isUpper && !isLower && autoPad != "NOTSET" && autoPad != "VALID")
    c.refuse("attribute 'auto_pad' should be NOTSET, SAME_UPPER, SAME_LOWER or "
             "VALID, not '" +
             autoPad + "'");
  std::optional<std::vector<int64_t>> given = c.attrInts("output_shape");
  if (given && given->size() != rank)
    c.refuse("attribute 'output_shape' should have " + std::to_string(rank) +
             " numbers");
  for (size_t i = 0; i < rank; ++i) {
    int64_t whole = s.strides[i] * (s.input[i] - 1) + more[i] +
                    (kernel[i] - 1) * s.dilations[i] + 1;
    int64_t to = given                ? (*given)[i]
                 : isUpper || isLower ? s.input[i] * s.strides[i]
                 : autoPad == "VALID" ? whole
                                      : whole - pads[i] - pads[i + rank];
    int64_t total = std::max<int64_t>(whole - to, 0);
    if (given || isUpper || isLower)
      pads[i] = isUpper ? total / 2 : total - total / 2;
    else if (autoPad == "VALID")
      pads[i] = 0;
    if (to < 0)
      c.refuse("its pads leave nothing of a dimension of " +
               std::to_string(whole));
    s.output.push_back(to);
    s.pads.push_back(pads[i]);
  }
  return s;
}

void convTranspose(NodeContext &c) {
  c.requireFloat(0);
  c.requireSameType(0, c.numInputs());
  Extents input = c.extents(0), filter = c.extents(1);
  if (input.size() < 3 || filter.size() != input.size())
    c.refuse("a filter of " + toString(filter) + " does not fit an input of " +
             toString(input));
  int64_t group = c.attrInt("group", 1), channels = input[1];
  if (group < 1 || channels % group || filter[0] != channels)
    c.refuse("a filter of " + toString(filter) + " in " +
             std::to_string(group) + " groups does not fit an input of " +
             toString(input));
  std::vector<int64_t> kernel = kernelOf(c, filter);
  Spread s = spreadOfConvolution(c, kernel);
  unsigned rank = kernel.size();
  int64_t own = channels / group, outputs = filter[1] * group;
  Extents to = {input[0], outputs}, domain;
  to.insert(to.end(), s.output.begin(), s.output.end());
  domain = to;
  domain.push_back(own);
  domain.insert(domain.end(), kernel.begin(), kernel.end());

  BodyBuilder body(c.graph, toShape(domain));
  unsigned firstTap = rank + 3;
  IndexExpr made = IndexExpr::dim(1),
            channel = floorDiv(made, std::max<int64_t>(filter[1], 1)) *
                          IndexExpr::constant(own) +
                      IndexExpr::dim(rank + 2);
  std::vector<IndexExpr> at = {IndexExpr::dim(0), channel},
                         weightAt = {channel, mod(made, std::max<int64_t>(
                                                            filter[1], 1))};
  std::vector<IndexConstraint> constraints;
  for (unsigned i = 0; i < rank; ++i) {
    at.push_back(sourceOf(s, i, i + 2, firstTap + i, constraints));
    weightAt.push_back(IndexExpr::dim(firstTap + i));
  }
  ElementType type = c.element(0);
  // Where a tap does not fall on an element neither is read: 0 * 0, whatever the weight is.
  ScalarId element = body.readWide(c.input(0), at, constraints),
           weight = body.readWide(c.input(1), weightAt, constraints),
           term = body.b.op(Op::Mul, {element, weight});
  Reducer reducer = Reducer::simple(Op::Add, type, type);
  if (c.has(2)) {
    if (c.extents(2) != Extents{outputs})
      c.refuse("its bias should have the shape [" + std::to_string(outputs) +
               "], not " + toString(c.extents(2)));
    ValueId sum = body.reduce({term}, rank + 1, reducer, type);
    BodyBuilder biased(c.graph, toShape(to));
    ScalarId value = biased.b.op(
        Op::Add, {biased.readWide(sum, identityAt(rank + 2)),
                  biased.readWide(c.input(2), {IndexExpr::dim(1)})});
    return c.setOutput(0, biased.pull(value, type));
  }
  c.setOutput(0, body.reduce({term}, rank + 1, reducer, type));
}

/// Blocks of an image, one per column, are added up to the image.
void col2Im(NodeContext &c) {
  Extents from = c.extents(0);
  std::vector<int64_t> image = c.constantInts(1, "image_shape"),
                       block = c.constantInts(2, "block_shape");
  Spread s;
  s.kernel = block;
  s.output = image;
  size_t rank = image.size();
  s.strides = listOf(c, "strides", rank, 1);
  s.dilations = listOf(c, "dilations", rank, 1);
  if (block.size() != rank)
    c.refuse("its block " + toString(block) + " does not fit an image of " +
             toString(image));
  requirePositive(c, s);
  std::vector<int64_t> pads = listOf(c, "pads", 2 * rank, 0);
  int64_t taps = 1, places = 1;
  for (size_t i = 0; i < rank; ++i) {
    int64_t room = image[i] + pads[i] + pads[i + rank] -
                   (block[i] - 1) * s.dilations[i] - 1;
    s.input.push_back(room < 0 ? 0 : room / s.strides[i] + 1);
    s.pads.push_back(pads[i]);
    taps *= block[i];
    places *= s.input[i];
  }
  if (from.size() != 3 || from[1] % taps || from[2] != places ||
      c.element(0) == ElementType::Bool)
    c.refuse("columns of " + toString(from) + " do not make an image of " +
             toString(image) + " of blocks of " + toString(block) +
             ": there are " + std::to_string(places) + " of " +
             std::to_string(taps) + " elements for each channel");
  Extents domain = {from[0], from[1] / taps};
  domain.insert(domain.end(), image.begin(), image.end());
  domain.insert(domain.end(), block.begin(), block.end());
  BodyBuilder body(c.graph, toShape(domain));
  std::vector<IndexConstraint> constraints;
  std::vector<IndexExpr> place, tap;
  for (size_t i = 0; i < rank; ++i) {
    unsigned own = static_cast<unsigned>(2 + rank + i);
    place.push_back(
        sourceOf(s, i, static_cast<unsigned>(2 + i), own, constraints));
    tap.push_back(IndexExpr::dim(own));
  }
  IndexExpr row = IndexExpr::dim(1) * IndexExpr::constant(taps) +
                  linearize(tap, toShape(block), body.ranges());
  Extents apart = {from[0], from[1]};
  apart.insert(apart.end(), s.input.begin(), s.input.end());
  std::vector<IndexExpr> at = {IndexExpr::dim(0), row};
  at.insert(at.end(), place.begin(), place.end());
  ElementType type = c.element(0);
  ScalarId value =
      body.readWide(reshape(c.graph, c.input(0), apart), at, constraints);
  c.setOutput(0, body.reduce({value}, rank,
                             Reducer::simple(Op::Add, type, type), type));
}

constexpr Rule kRules[] = {
    {"Col2Im", 18, kNewest, col2Im},
    {"ConvTranspose", 1, kNewest, convTranspose},
};

} // namespace

std::span<const Rule> transposedRules() { return kRules; }

} // namespace lockstitch::onnx
