/** Random texts for YAML readers: documents, damaged documents, and arbitrary text. */

/** Texts that YAML readers interpret differently. */
const words = [
  ...'a b c 1 0 -1 1.0 1e3 e12345 E1 . .5 -.5 +1 +.5 0x1F 0X1f 0o17 0b11 0B1 017 08 1_000 _1 1__0 12:30 190:20:30 - x'.split(
    ' ',
  ),
  ...'y n Y N yes no on off Yes NO true True TRUE false null Null ~ << .inf -.inf +.Inf .nan 1e400 0b102 0x 0b-1 -0b1 0o8'.split(
    ' ',
  ),
  ...'9007199254740993 9223372036854775807 9223372036854775808 18446744073709551616 -9223372036854775809 1.5e-3 1e21 -0'.split(
    ' ',
  ),
  ...'2001-01-01 2001-12-14t21:59:43.10-05:00 1. 1.e5 a#b a:b :a -x ?a :: @x `x | > |- |+ |2 >1- |0 &a *a *b ! !!str !!map'.split(
    ' ',
  ),
  ...'{} [] {a} {,} [,] [a,b] [a,,b] [?] {a:1} {"a":1} --- ... "x" "" \'y\' \'\' é \u{1f600} \u00a0'.split(' '),
  ...[
    'a: b',
    'a :b',
    'a : b',
    '- x',
    '? a',
    ' #c',
    '#c',
    'k: v',
    '"k": v',
    "'k' : v",
    '1: x',
    '1.5: x',
    'y: x',
    'null: x',
  ],
  ...[
    '"a\\nb"',
    '"\\x41\\u00e9\\U0001F600"',
    '"\\/"',
    '"\\q"',
    '"a\\\n  b"',
    '"a\n  b"',
    "'it''s'",
    '\u2028',
    '\u0085',
    '\t',
  ],
  ...[
    '!!str 1',
    '!!int 1',
    '!!int "5"',
    '!!int x',
    '!!float 1',
    '!!bool yes',
    '!!bool x',
    '!!null ""',
    '!!null x',
    '!foo x',
    '! 1',
  ],
  ...[
    '!!binary aGk=',
    '!!binary x',
    '!!binary gICA',
    '!<x> y',
    '!<tag:yaml.org,2002:int> 3',
    '!!timestamp 2001-01-01',
    '!e!x y',
  ],
  ...[
    '{a: 1}',
    '{a: 1,}',
    '[a: b]',
    '[? a : b]',
    '[: a]',
    '{? a}',
    '{[]: 1}',
    '[[]: 1]',
    '{a: }',
    '{: b}',
    '[a]: b',
    '{a: b}: c',
  ],
  ...[
    '&a x',
    '&b {x: 1}',
    '<<: *a',
    '<<: {x: 1}',
    '<<: [*a, {z: 2}]',
    '<<: x',
    '"<<": {x: 1}',
    '!!merge <<: {a: 1}',
    '- - a',
  ],
  ...[
    '--- x',
    '%YAML 1.1',
    '%YAML 1.2',
    '%TAG !e! tag:e,1:',
    '? a\n: b',
    '0.1: x',
    '1e5: x',
    '1234567.5: x',
    '.inf: x',
    '\u0001',
  ],
  'x'.repeat(1030),
  `"${'x'.repeat(1030)}"`,
];
const between = [
  ' ',
  '\n',
  '\n  ',
  '\n    ',
  ': ',
  ':\n  ',
  ':\n',
  '\n- ',
  '\n  - ',
  ', ',
  ',',
  '\n\n',
  '\t',
  '\r\n',
  '\n\t',
  ' : ',
];
const more = ['- ', '? ', '\n---\n', '\n...\n', '#', ' # c\n', '', '\n ', '  '];
const keys = ['a', 'b', 'c', '"d"', "'e'", '1', 'y', '<<', '&x f', '? g', '!!str h', '1.5', 'null'];
const lines = ['text', '', '  more', '# no', 'a: b', '\ttab'];
const characters = [...'abe1 \n\n  -:?,[]{}#&*!|>\'"%@`\t.~\\=<+_0xX', '\u0085', '\u2028', 'é', '\u{1f600}', '\r'];

export class RandomYAML {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  text(): string {
    const kind = this.#below(10);
    const text =
      kind < 3
        ? this.#soup()
        : kind < 8
          ? this.#value(3, 0).replace(/^\n/, '')
          : this.#join(20, () => this.#pick(characters));
    return this.#random() < 0.5 ? this.#changed(text) : text;
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#below(list.length)] as T;
  }

  #join(most: number, part: () => string, separator = ''): string {
    return Array.from({ length: 1 + this.#below(most) }, part).join(separator);
  }

  #soup(): string {
    return this.#join(8, () => this.#pick(words) + this.#pick([...between, ...more]));
  }

  #value(depth: number, indent: number): string {
    const pad = ' '.repeat(indent);
    const deeper = (by: number) => this.#value(depth - 1, indent + by);
    switch (this.#below(depth <= 0 ? 4 : 8)) {
      case 4: {
        const entry = () => `${pad}${this.#pick(keys)}:${this.#pick([' ', ' ', '  ', ''])}${deeper(this.#below(4))}`;
        return `\n${this.#join(3, entry, '\n')}`;
      }
      case 5: {
        const dash = () => `${' '.repeat(Math.max(0, indent - this.#below(2)))}- ${deeper(2)}`;
        return `\n${this.#join(3, dash, '\n')}`;
      }
      case 6: {
        const comma = this.#pick([', ', ',', '\n, ', `,\n${pad}`, ',\n']);
        return `{${this.#join(3, () => `${this.#pick(['a', '"b"', 'c'])}: ${this.#value(0, 0)}`, comma)}}`;
      }
      case 7: {
        const line = () => ' '.repeat(indent + this.#below(4)) + this.#pick(lines);
        return `${this.#pick(['|', '>', '|-', '>+', '|2'])}\n${this.#join(3, line, '\n')}`;
      }
      default:
        return this.#pick(words);
    }
  }

  #changed(text: string): string {
    const all = [...text];
    for (let left = 1 + this.#below(3); left > 0; left--) {
      const at = this.#below(all.length + 1);
      switch (this.#below(4)) {
        case 0:
          all.splice(at, 0, this.#pick(characters));
          break;
        case 1:
          all.splice(at, 1);
          break;
        case 2:
          all.splice(at, 1, this.#pick(characters));
          break;
        default:
          all.splice(this.#below(all.length + 1), 0, ...all.slice(at, at + this.#below(12)));
      }
    }
    return all.join('');
  }
}
