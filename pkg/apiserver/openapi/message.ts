/** A Protobuf message under construction: fields are appended in the order of the calls. */
import { stringify } from 'yaml';

export class Message {
  readonly #parts: Buffer[] = [];
  #size = 0;

  text(field: number, value: string | undefined): this {
    if (value === undefined || value === '') return this;
    return this.#delimited(field, [Buffer.from(value)]);
  }

  texts(field: number, values: readonly string[] | undefined): this {
    for (const value of values ?? []) this.#delimited(field, [Buffer.from(value)]);
    return this;
  }

  /** A `bool`; false and absent are the same. */
  flag(field: number, value: boolean | undefined): this {
    if (value !== true) return this;
    return this.#push([varint(field * 8), Buffer.from([1])]);
  }

  /** The same, told where it is false too. */
  told(field: number, value: boolean): this {
    return this.#push([varint(field * 8), Buffer.from([value ? 1 : 0])]);
  }

  /** An `int64` that is not negative. */
  count(field: number, value: number | undefined): this {
    if (value === undefined || value <= 0) return this;
    return this.#push([varint(field * 8), varint(value)]);
  }

  /** A `double`. */
  number(field: number, value: number | undefined): this {
    if (value === undefined) return this;
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    return this.#push([varint(field * 8 + 1), bytes]);
  }

  message(field: number, value: Message | undefined): this {
    return value === undefined ? this : this.#delimited(field, value.#parts);
  }

  bytes(): Buffer {
    return Buffer.concat(this.#parts, this.#size);
  }

  #delimited(field: number, parts: readonly Buffer[]): this {
    const size = parts.reduce((sum, part) => sum + part.length, 0);
    return this.#push([varint(field * 8 + 2), varint(size)]).#push(parts);
  }

  /** Parts of a large message are more than the arguments that a call can have. */
  #push(parts: readonly Buffer[]): this {
    for (const part of parts) {
      this.#parts.push(part);
      this.#size += part.length;
    }
    return this;
  }
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127) {
    bytes.push((rest % 128) | 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** What stands before a message of that length. */
export function delimiter(field: number, length: number): Buffer {
  return Buffer.concat([varint(field * 8 + 2), varint(length)]);
}

/** An entry of a map. */
export function named(name: string, value: Message): Message {
  return new Message().text(1, name).message(2, value);
}

/** gnostic's `Any`: a value of any type as YAML. */
export function any(value: unknown): Message {
  // Numbers and flags are the same in JSON; so are lists and maps, which YAML takes as they are.
  return new Message().text(2, typeof value === 'string' ? stringify(value) : `${JSON.stringify(value)}\n`);
}

/** The members whose names begin with `x-`. */
export function extensions(target: Message, field: number, source: object): Message {
  for (const [name, value] of Object.entries(source)) {
    if (name.startsWith('x-')) target.message(field, named(name, any(value)));
  }
  return target;
}
