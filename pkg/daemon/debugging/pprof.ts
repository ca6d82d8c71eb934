/** Encodes profiles for `go tool pprof` and speedscope: perftools.profiles.Profile, gzipped. */
import { gzipSync } from 'node:zlib';
import { type FunctionInput, type LocationInput, Profile, StringTable } from 'pprof-format';

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

export function encodeProfile(profile: PprofProfile): Buffer {
  const stringTable = new StringTable();
  const text = (value: string) => stringTable.dedup(value);
  const valueType = ({ type, unit }: ValueType) => ({ type: text(type), unit: text(unit) });
  const location: LocationInput[] = [];
  const functions: FunctionInput[] = [];
  const ids = new Map<string, number>();
  // One function per location: the runtime's profiles name functions, not lines within them.
  const idOf = ({ name, file, line }: Frame): number => {
    const key = JSON.stringify([name, file, line]);
    const existing = ids.get(key);
    if (existing !== undefined) return existing;
    const id = ids.size + 1;
    ids.set(key, id);
    const shown = text(name === '' ? '(anonymous)' : name);
    functions.push({ id, name: shown, systemName: shown, filename: text(file), startLine: line });
    location.push({ id, line: [{ functionId: id, line }] });
    return id;
  };
  const encoded = new Profile({
    sampleType: profile.sampleTypes.map(valueType),
    sample: profile.samples.map(({ stack, values }) => ({ locationId: stack.map(idOf), value: [...values] })),
    location,
    function: functions,
    stringTable,
    timeNanos: nanos(profile.timeMs - profile.durationMs),
    durationNanos: nanos(profile.durationMs),
    periodType: valueType(profile.periodType),
    period: profile.period,
  }).encode();
  return gzipSync(encoded);
}

/** Nanoseconds exact to the microsecond, which a number could not hold. */
const nanos = (ms: number): bigint => BigInt(Math.round(ms * 1000)) * 1000n;
