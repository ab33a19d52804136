"""Writes small ONNX models, TensorProtos and .npy files with the standard library alone, byte by byte as the formats say."""
import struct

F32, U8, I8, I32, I64, STRING, BOOL, F16, F64, BF16 = 1, 2, 3, 6, 7, 8, 9, 10, 11, 16
NUMPY = {F32: "<f4", U8: "|u1", I8: "|i1", I32: "<i4", I64: "<i8", BOOL: "|b1", F16: "<f2", F64: "<f8"}
STRUCT = {F32: "f", U8: "B", I8: "b", I32: "i", I64: "q", BOOL: "?", F16: "e", F64: "d"}


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, value):
    """A Protobuf field: an int as a varint, str and bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def packed(kind, values):
    return struct.pack(f"<{len(values)}{STRUCT[kind]}", *values)


def tensor(name, kind, dims, values):
    return b"".join(field(1, d) for d in dims) + field(2, kind) + field(8, name) + field(9, packed(kind, values))


def attribute(name, value):
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    if isinstance(value, str):
        return field(1, name) + field(4, value) + field(20, 3)
    return field(1, name) + b"".join(field(8, v) for v in value) + field(20, 7)


def node(op, inputs, outputs, name="", domain="", **attributes):
    return (b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(3, name) + field(4, op)
            + b"".join(field(5, attribute(k, v)) for k, v in attributes.items()) + (field(7, domain) if domain else b""))


def value(name, kind, dims=None):
    """A ValueInfoProto. A dimension is a number, a symbol, or "" (open without a name); no dims: no shape."""
    shape = b""
    if dims is not None:
        parts = [field(1, d) if isinstance(d, int) else field(2, d) if d else b"" for d in dims]
        shape = field(2, b"".join(field(1, p) for p in parts))
    return field(1, name) + field(2, field(1, field(1, kind) + shape))


def model(nodes, inputs, outputs, initializers=(), name="tiny", opset=17):
    graph = (b"".join(field(1, n) for n in nodes) + field(2, name) + b"".join(field(5, i) for i in initializers)
             + b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, opset))


def npy(kind, dims, values):
    text = f"{{'descr': '{NUMPY[kind]}', 'fortran_order': False, 'shape': ({', '.join(map(str, dims))}{',' if len(dims) == 1 else ''}), }}"
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + packed(kind, values)


def read_npy(data):
    """(descr, shape, raw bytes) of a .npy file, format version 1."""
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    length = struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:10 + length].decode())  # our own file
    assert not header["fortran_order"]
    return header["descr"], header["shape"], data[10 + length:]
