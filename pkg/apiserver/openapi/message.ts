/** A Protobuf message under construction: fields are appended in the order of the calls. */
import { stringify } from 'yaml';

export class Message {
  /** Numbers are varints; what was added must not change any more. */
  readonly #parts: (number | string | Buffer | Message)[] = [];
  #size = 0;

  text(field: number, value: string | undefined): this {
    return value === undefined || value === '' ? this : this.#text(field, value);
  }

  texts(field: number, values: readonly string[] | undefined): this {
    for (const value of values ?? []) this.#text(field, value);
    return this;
  }

  /** A `bool`; false and absent are the same. */
  flag(field: number, value: boolean | undefined): this {
    return value === true ? this.told(field, value) : this;
  }

  /** The same, told where it is false too. */
  told(field: number, value: boolean): this {
    return this.#varint(field * 8).#varint(value ? 1 : 0);
  }

  /** An `int64` that is not negative. */
  count(field: number, value: number | undefined): this {
    return value === undefined || value <= 0 ? this : this.#varint(field * 8).#varint(value);
  }

  /** A `double`. */
  number(field: number, value: number | undefined): this {
    if (value === undefined) return this;
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    return this.#varint(field * 8 + 1).#push(bytes, bytes.length);
  }

  message(field: number, value: Message | undefined): this {
    if (value === undefined) return this;
    return this.#varint(field * 8 + 2)
      .#varint(value.#size)
      .#push(value, value.#size);
  }

  bytes(): Buffer {
    const target = Buffer.allocUnsafe(this.#size);
    this.#write(target, 0);
    return target;
  }

  #text(field: number, value: string): this {
    const length = Buffer.byteLength(value);
    return this.#varint(field * 8 + 2)
      .#varint(length)
      .#push(value, length);
  }

  #varint(value: number): this {
    return this.#push(value, varintLength(value));
  }

  #push(part: number | string | Buffer | Message, length: number): this {
    this.#parts.push(part);
    this.#size += length;
    return this;
  }

  /** Where the next one comes. */
  #write(target: Buffer, at: number): number {
    let to = at;
    for (const part of this.#parts) {
      if (typeof part === 'number') to = writeVarint(target, to, part);
      else if (typeof part === 'string') to += target.write(part, to);
      else if (part instanceof Message) to = part.#write(target, to);
      else {
        target.set(part, to);
        to += part.length;
      }
    }
    return to;
  }
}

function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest > 127; rest = Math.floor(rest / 128)) length++;
  return length;
}

function writeVarint(target: Buffer, at: number, value: number): number {
  let to = at;
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) target[to++] = (rest % 128) | 128;
  target[to++] = rest;
  return to;
}

/** What stands before a message of that length. */
export function delimiter(field: number, length: number): Buffer {
  const target = Buffer.alloc(varintLength(field * 8 + 2) + varintLength(length));
  writeVarint(target, writeVarint(target, 0, field * 8 + 2), length);
  return target;
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
