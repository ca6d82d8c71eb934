/**
 * Profiles in the format that `go tool pprof` and speedscope read: perftools.profiles.Profile, compressed with gzip.
 * Field numbers: github.com/google/pprof, proto/profile.proto.
 */
import { gzipSync } from 'node:zlib';
import { ProtobufWriter } from '#daemon/debugging/protobuf-writer.js';

export interface Frame {
  /** Empty for an anonymous function. */
  readonly name: string;
  /** URL or path; empty for what is not a script. */
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

/** Numbers for what is named often: strings from 0 (which is the empty one), locations from 1. */
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

/** The file's bytes. */
export function encodeProfile(profile: PprofProfile): Buffer {
  const strings = new Table<string>(0);
  const text = (value: string) => strings.id(value, value);
  text('');
  const valueType = ({ type, unit }: ValueType) => new ProtobufWriter().integer(1, text(type)).integer(2, text(unit));
  const frames = new Table<Frame>(1);
  const out = new ProtobufWriter();
  for (const type of profile.sampleTypes) out.message(1, valueType(type));
  for (const { stack, values } of profile.samples) {
    const ids = stack.map((frame) => frames.id(JSON.stringify([frame.name, frame.file, frame.line]), frame));
    out.message(2, new ProtobufWriter().integers(1, ids).integers(2, values));
  }
  // One function per location: the runtime's profiles name functions, not lines within them.
  for (const [i, { line }] of frames.items.entries()) {
    const lines = new ProtobufWriter().integer(1, i + 1).integer(2, line);
    out.message(4, new ProtobufWriter().integer(1, i + 1).message(4, lines));
  }
  for (const [i, { name, file, line }] of frames.items.entries()) {
    const shown = text(name === '' ? '(anonymous)' : name);
    out.message(
      5,
      new ProtobufWriter()
        .integer(1, i + 1)
        .integer(2, shown)
        .integer(3, shown)
        .integer(4, text(file))
        .integer(5, line),
    );
  }
  const period = valueType(profile.periodType);
  for (const item of strings.items) out.string(6, item);
  out
    .integer(9, BigInt(Math.round((profile.timeMs - profile.durationMs) * 1000)) * 1000n)
    .integer(10, BigInt(Math.round(profile.durationMs * 1000)) * 1000n)
    .message(11, period)
    .integer(12, profile.period);
  return gzipSync(out.finish());
}
