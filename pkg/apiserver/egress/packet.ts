/** Packets of konnectivity's protocol in Protobuf. */
import protobuf from 'protobufjs/minimal.js';

export type Packet =
  | { readonly type: 'DIAL_REQ'; readonly address: string; readonly random: bigint }
  | { readonly type: 'DIAL_RSP'; readonly error: string; readonly connectId: bigint; readonly random: bigint }
  | { readonly type: 'CLOSE_REQ'; readonly connectId: bigint }
  | { readonly type: 'CLOSE_RSP'; readonly error: string; readonly connectId: bigint }
  | { readonly type: 'DATA'; readonly connectId: bigint; readonly data: Buffer }
  | { readonly type: 'DIAL_CLS'; readonly random: bigint };

/** In the order of their numbers. */
const types = ['DIAL_REQ', 'DIAL_RSP', 'CLOSE_REQ', 'CLOSE_RSP', 'DATA', 'DIAL_CLS'] as const;

/** Field number of each type's payload. */
const payloads = { DIAL_REQ: 2, DIAL_RSP: 3, DATA: 4, CLOSE_REQ: 5, CLOSE_RSP: 6, DIAL_CLS: 7 } as const;

const bytesWire = 2;

type Fields = readonly (string | bigint | Buffer)[];

/** The values of the payload's fields, in the order of their numbers. */
function fieldsOf(packet: Packet): Fields {
  switch (packet.type) {
    case 'DIAL_REQ':
      return ['tcp', packet.address, packet.random];
    case 'DIAL_RSP':
      return [packet.error, packet.connectId, packet.random];
    case 'CLOSE_REQ':
      return [packet.connectId];
    case 'CLOSE_RSP':
      return [packet.error, packet.connectId];
    case 'DATA':
      return [packet.connectId, '', packet.data];
    case 'DIAL_CLS':
      return [packet.random];
    default:
      return packet satisfies never;
  }
}

export function encodePacket(packet: Packet): Buffer {
  const writer = protobuf.Writer.create();
  const type = types.indexOf(packet.type);
  if (type > 0) writer.uint32(8).int32(type);
  writer.uint32((payloads[packet.type] << 3) | bytesWire).fork();
  for (const [i, value] of fieldsOf(packet).entries()) {
    const tag = (i + 1) << 3;
    if (typeof value === 'bigint') writeNumber(writer.uint32(tag), value);
    else if (typeof value === 'string') writer.uint32(tag | bytesWire).string(value);
    else writer.uint32(tag | bytesWire).bytes(value);
  }
  return Buffer.from(writer.ldelim().finish());
}

function writeNumber(writer: protobuf.Writer, value: bigint): void {
  const low = Number(BigInt.asIntN(32, value));
  const high = Number(BigInt.asIntN(32, value >> 32n));
  writer.int64({ low, high, unsigned: false } as never);
}

function readNumber(reader: protobuf.Reader): bigint {
  const value: unknown = reader.int64();
  if (typeof value === 'number') return BigInt(value);
  const { low, high } = value as { readonly low: number; readonly high: number };
  return (BigInt(high) << 32n) | BigInt.asUintN(32, BigInt(low));
}

/** Numbers and texts of a payload, by field. */
interface Payload {
  readonly numbers: Map<number, bigint>;
  readonly bytes: Map<number, Buffer>;
}

/** Throws for malformed bytes. */
export function decodePacket(message: Buffer): Packet {
  const reader = protobuf.Reader.create(message);
  let type = 0;
  let payload: Payload = { numbers: new Map(), bytes: new Map() };
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === 8) type = reader.int32();
    else if ((tag & 7) === bytesWire) payload = readPayload(Buffer.from(reader.bytes()));
    else reader.skipType(tag & 7);
  }
  const { bytes, numbers } = payload;
  const number = (field: number) => numbers.get(field) ?? 0n;
  const text = (field: number) => bytes.get(field)?.toString() ?? '';
  const name = types[type];
  switch (name) {
    case 'DIAL_REQ':
      return { type: name, address: text(2), random: number(3) };
    case 'DIAL_RSP':
      return { type: name, error: text(1), connectId: number(2), random: number(3) };
    case 'CLOSE_REQ':
      return { type: name, connectId: number(1) };
    case 'CLOSE_RSP':
      return { type: name, error: text(1), connectId: number(2) };
    case 'DATA':
      return { type: name, connectId: number(1), data: bytes.get(3) ?? Buffer.alloc(0) };
    case 'DIAL_CLS':
      return { type: name, random: number(1) };
    default:
      throw new RangeError(`a packet has the unknown type ${type}`);
  }
}

function readPayload(message: Buffer): Payload {
  const payload: Payload = { numbers: new Map(), bytes: new Map() };
  const reader = protobuf.Reader.create(message);
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    const field = tag >>> 3;
    if ((tag & 7) === 0) payload.numbers.set(field, readNumber(reader));
    else if ((tag & 7) === bytesWire) payload.bytes.set(field, Buffer.from(reader.bytes()));
    else reader.skipType(tag & 7);
  }
  return payload;
}
