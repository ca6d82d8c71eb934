/** What an ELF program loads, read from its file: for programs of machines whose loader cannot run here. Pure. */

export interface Loading {
  /** Path of the loader; undefined for a static program or a library. */
  readonly loader: string | undefined;
  /** Names of the libraries that it needs. */
  readonly needed: readonly string[];
}

const types = { load: 1, dynamic: 2, interpreter: 3 };
const tags = { end: 0, needed: 1, strings: 5 };

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

/** Throws for a file that is no 64-bit little-endian ELF file. */
export function loadingOf(file: Buffer): Loading {
  if (file.length < 64 || file.toString('latin1', 0, 4) !== '\x7fELF' || file[4] !== 2 || file[5] !== 1)
    throw new Error('no 64-bit little-endian ELF file');
  const number = (at: number) => Number(file.readBigUInt64LE(at));
  const [first, size, count] = [number(32), file.readUInt16LE(54), file.readUInt16LE(56)];
  const segments = Array.from({ length: count }, (_, index): Segment => {
    const at = first + index * size;
    return { type: file.readUInt32LE(at), offset: number(at + 8), address: number(at + 16), size: number(at + 32) };
  });
  const interpreter = segments.find(({ type }) => type === types.interpreter);
  const dynamic = segments.find(({ type }) => type === types.dynamic);
  const loader = interpreter === undefined ? undefined : textAt(file, interpreter.offset);
  if (dynamic === undefined) return { loader, needed: [] };
  const entries: { tag: number; value: number }[] = [];
  for (let at = dynamic.offset; at + 16 <= dynamic.offset + dynamic.size; at += 16) {
    const tag = number(at);
    if (tag === tags.end) break;
    if (tag === tags.needed || tag === tags.strings) entries.push({ tag, value: number(at + 8) });
  }
  const strings = entries.find(({ tag }) => tag === tags.strings)?.value ?? 0;
  const segment = segments.find(
    ({ type, address, size: length }) => type === types.load && strings >= address && strings < address + length,
  );
  const table = strings - (segment?.address ?? 0) + (segment?.offset ?? 0);
  const needed = entries.filter(({ tag }) => tag === tags.needed).map(({ value }) => textAt(file, table + value));
  return { loader, needed };
}

function textAt(file: Buffer, at: number): string {
  return file.toString('latin1', at, file.indexOf(0, at));
}
