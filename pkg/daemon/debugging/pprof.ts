/**
 * Encodes profiles for `go tool pprof` and speedscope: perftools.profiles.Profile, gzipped. Field numbers:
 * github.com/google/pprof, proto/profile.proto.
 */
import { gzipSync } from 'node:zlib';
import protobuf from 'protobufjs/minimal.js';

export interface Frame {
  /** Empty for an anonymous function. */
  readonly name: string;
  /** URL or path; empty for native code. */
  readonly file: string;
  /** From 1; 0 when unknown. */
  readonly line: number;
}

export interface Sample {
  /** Innermost first. */
  readonly stack: readonly Frame[];
  /** One whole number per sample type. */
  readonly values: readonly number[];
}

export interface ValueType {
  /** `samples`, `cpu`, `inuse_space`. */
  readonly type: string;
  /** `count`, `nanoseconds`, `bytes`. */
  readonly unit: string;
}

export interface PprofProfile {
  readonly sampleTypes: readonly ValueType[];
  readonly samples: readonly Sample[];
  readonly periodType: ValueType;
  /** In the period type's unit. */
  readonly period: number;
  /** End of the profile; ms since the epoch. */
  readonly timeMs: number;
  readonly durationMs: number;
}

/** Gives equal keys the same number: strings from 0 (the empty one), locations from 1. */
class Table<T> {
  readonly #ids = new Map<string, number>();
  readonly items: T[] = [];
  readonly #first: number;

  constructor(first: number) {
    this.#first = first;
  }

  id(key: string, item: T): number {
    let id = this.#ids.get(key);
    if (id === undefined) {
      id = this.#first + this.items.length;
      this.#ids.set(key, id);
      this.items.push(item);
    }
    return id;
  }
}

export function encodeProfile(profile: PprofProfile): Buffer {
  const strings = new Table<string>(0);
  const text = (value: string) => strings.id(value, value);
  text('');
  const frames = new Table<Frame>(1);
  const out = protobuf.Writer.create();
  const number = (field: number, value: number) => out.uint32(field * 8).int64(value);
  const begin = (field: number) => out.uint32(field * 8 + 2).fork();
  const valueType = (field: number, { type, unit }: ValueType) => {
    begin(field);
    number(1, text(type));
    number(2, text(unit)).ldelim();
  };
  const numbers = (field: number, values: readonly number[]) => {
    begin(field);
    for (const value of values) out.int64(value);
    out.ldelim();
  };
  for (const type of profile.sampleTypes) valueType(1, type);
  for (const { stack, values } of profile.samples) {
    begin(2);
    numbers(
      1,
      stack.map((frame) => frames.id(JSON.stringify([frame.name, frame.file, frame.line]), frame)),
    );
    numbers(2, values);
    out.ldelim();
  }
  // One function per location: the runtime's profiles name functions, not lines within them.
  for (const [i, { line }] of frames.items.entries()) {
    begin(4);
    number(1, i + 1);
    begin(4);
    number(1, i + 1);
    number(2, line).ldelim().ldelim();
  }
  for (const [i, { name, file, line }] of frames.items.entries()) {
    const shown = text(name === '' ? '(anonymous)' : name);
    begin(5);
    number(1, i + 1);
    number(2, shown);
    number(3, shown);
    number(4, text(file));
    number(5, line).ldelim();
  }
  valueType(11, profile.periodType);
  for (const item of strings.items) out.uint32(6 * 8 + 2).string(item);
  out.uint32(9 * 8).int64(nanos(profile.timeMs - profile.durationMs));
  out.uint32(10 * 8).int64(nanos(profile.durationMs));
  number(12, profile.period);
  return gzipSync(out.finish());
}

/** Nanoseconds exact to the microsecond, which a number could not hold. */
function nanos(ms: number): protobuf.Long {
  const exact = BigInt.asUintN(64, BigInt(Math.round(ms * 1000)) * 1000n);
  return { low: Number(exact & 0xffff_ffffn), high: Number(exact >> 32n), unsigned: false } as protobuf.Long;
}
