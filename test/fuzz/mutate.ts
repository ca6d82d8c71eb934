/** Mutations of encoded objects: of arbitrary bytes, of Protobuf, and of JSON. Pure: the caller provides randomness. */

export type Random = () => number;

export function below(random: Random, limit: number): number {
  return Math.floor(random() * limit);
}

export function pick<T>(random: Random, values: readonly [T, ...T[]]): T {
  return values[below(random, values.length)] ?? values[0];
}

type Mutation = (bytes: Buffer, random: Random, other: Buffer) => Buffer;

/** Maximum bytes per input, so that a long run tests many inputs instead of a few large ones. */
const maxBytes = 64 * 1024;

const cut = (bytes: Buffer, from: number, to: number, by: Buffer): Buffer =>
  Buffer.concat([bytes.subarray(0, from), by, bytes.subarray(to)]);

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7n) {
    bytes.push(rest < 128n ? Number(rest) : Number(rest & 127n) | 128);
    if (rest < 128n) return Buffer.from(bytes);
  }
}

const overwrite: Mutation = (bytes, random) => {
  const result = Buffer.from(bytes);
  for (let n = 1 + below(random, 4); n > 0 && result.length > 0; n--) {
    result[below(random, result.length)] = pick(random, [
      0,
      1,
      0x7f,
      0x80,
      0xff,
      below(random, 256),
      below(random, 256),
    ]);
  }
  return result;
};

const flipBit: Mutation = (bytes, random) => {
  const result = Buffer.from(bytes);
  const at = below(random, result.length);
  result[at] = (result[at] ?? 0) ^ (1 << below(random, 8));
  return result;
};

const truncate: Mutation = (bytes, random) => bytes.subarray(0, below(random, bytes.length + 1));

const remove: Mutation = (bytes, random) => {
  const at = below(random, bytes.length);
  return cut(bytes, at, at + 1 + below(random, 16), Buffer.alloc(0));
};

const repeat: Mutation = (bytes, random) => {
  const at = below(random, bytes.length);
  const part = bytes.subarray(at, at + 1 + below(random, 64));
  return cut(bytes, at, at, Buffer.concat(Array.from({ length: 1 + below(random, 20) }, () => part)));
};

const join: Mutation = (bytes, random, other) =>
  Buffer.concat([bytes.subarray(0, below(random, bytes.length + 1)), other.subarray(below(random, other.length + 1))]);

const everyFormat: readonly [Mutation, ...Mutation[]] = [overwrite, flipBit, truncate, remove, repeat, join];

/** Longer than 64 bits; the longest valid one; lengths around 2^31, 2^32 and 2^64. */
const oddVarints = [
  Buffer.alloc(11, 0xff),
  Buffer.concat([Buffer.alloc(9, 0xff), Buffer.from([0x01])]),
  Buffer.concat([Buffer.alloc(9, 0x80), Buffer.from([0x00])]),
  ...[2n ** 31n - 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n].map(varint),
] as const;

const invalidUtf8 = [
  Buffer.from([0xff, 0xfe]),
  Buffer.from([0xc0, 0x80]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from([0xf8, 0x88, 0x80, 0x80, 0x80]),
  Buffer.from([0xe2, 0x82]),
] as const;

const insertVarint: Mutation = (bytes, random) => {
  const at = below(random, bytes.length + 1);
  return cut(bytes, at, at + below(random, 3), oddVarints[below(random, oddVarints.length)] ?? oddVarints[0]);
};

const insertInvalidUtf8: Mutation = (bytes, random) => {
  const at = below(random, bytes.length + 1);
  const by = invalidUtf8[below(random, invalidUtf8.length)] ?? invalidUtf8[0];
  return cut(bytes, at, at + by.length, by);
};

/** Nests a field in itself as often as it fits. */
const nest: Mutation = (bytes, random) => {
  const field = 1 + below(random, 45);
  const key = varint(BigInt(field * 8 + 2));
  const depth = pick(random, [3, 50, 499, 501, 3000]);
  const at = below(random, bytes.length + 1);
  const parts: Buffer[] = [];
  let size = 0;
  for (let i = 0; i < depth && size < maxBytes; i++) {
    const head = Buffer.concat([key, varint(BigInt(size))]);
    parts.push(head);
    size += head.length;
  }
  return cut(bytes, at, at, Buffer.concat(parts.reverse()));
};

/** Groups, which no message contains, and undefined wire types. */
const insertKey: Mutation = (bytes, random) => {
  const at = below(random, bytes.length + 1);
  return cut(bytes, at, at, varint(BigInt(below(random, 60) * 8 + below(random, 8))));
};

const ofProtobuf: readonly [Mutation, ...Mutation[]] = [
  ...everyFormat,
  insertVarint,
  insertInvalidUtf8,
  nest,
  insertKey,
];

const jsonParts = [
  ...['null', 'true', '-0', '1e999', '-1e-999', '9007199254740993', '18446744073709551616', '0.1', '1.0', '2147483648'],
  ...['""', '"\\ud800"', '"\\u0000"', '"1Ki"', '"1e9999"', '"2006-01-02T15:04:05Z"', '"999999h"', '"=="', '[]', '{}'],
  ...['[null]', '{"":null}', '{"__proto__":{}}', '{"a":1,"a":2}', '"__proto__":1,', '"constructor":{},', '{', '}'],
  ...['[', ']', '"', ',', ':', '\\', '\u2028', '-', 'e', '\ufeff'],
];

const insertJson: Mutation = (bytes, random) => {
  const at = below(random, bytes.length + 1);
  return cut(bytes, at, at + below(random, 5), Buffer.from(jsonParts[below(random, jsonParts.length)] ?? ''));
};

/** Replaces a member's value, so that the text remains JSON. */
const replaceValue: Mutation = (bytes, random) => {
  const text = bytes.toString('latin1');
  const start = text.indexOf('":', below(random, text.length));
  if (start < 0) return insertJson(bytes, random, bytes);
  const value = /^(?:"(?:[^"\\]|\\.)*"|[-+0-9.eE]+|true|false|null|[[{])/.exec(text.slice(start + 2))?.[0] ?? '';
  const opens = value === '{' || value === '[';
  const by = opens ? `${jsonParts[below(random, 20)]},"x":${value}` : (jsonParts[below(random, 24)] ?? '');
  return cut(bytes, start + 2, start + 2 + value.length, Buffer.from(by));
};

const nestJson: Mutation = (bytes, random) => {
  const text = bytes.toString('latin1');
  const start = text.indexOf('":', below(random, text.length)) + 2;
  const [open, close] = pick<readonly [string, string]>(random, [
    ['[', ']'],
    ['{"a":', '}'],
    ['{"not":', '}'],
  ]);
  const depth = pick(random, [3, 499, 501, 5000]);
  const end = random() < 0.3 ? '' : close.repeat(depth);
  return cut(bytes, start, start, Buffer.from(`${open.repeat(depth)}1${end},"y":`));
};

const ofJson: readonly [Mutation, ...Mutation[]] = [
  ...everyFormat,
  insertInvalidUtf8,
  insertJson,
  insertJson,
  replaceValue,
  replaceValue,
  replaceValue,
  nestJson,
];

const mutations = { bytes: everyFormat, json: ofJson, protobuf: ofProtobuf };

/** `bytes` after one to six mutations, which may use parts of `other`. */
export function mutate(format: keyof typeof mutations, bytes: Buffer, random: Random, other: Buffer): Buffer {
  let result = bytes;
  for (let n = 1 + below(random, 6); n > 0; n--) {
    if (result.length === 0) return other;
    result = pick(random, mutations[format])(result, random, other).subarray(0, maxBytes);
  }
  return result;
}
