/** The tokens of YAML text. */

/** A position in a text; all numbers count from zero. */
export interface Mark {
  /** The number of characters before it. */
  readonly index: number;
  readonly line: number;
  readonly column: number;
}

export type Token =
  | { readonly kind: Indicator; readonly start: Mark }
  | { readonly kind: 'version'; readonly start: Mark; readonly major: number; readonly minor: number }
  | { readonly kind: 'tagPrefix'; readonly start: Mark; readonly handle: string; readonly prefix: string }
  | { readonly kind: 'alias' | 'anchor'; readonly start: Mark; readonly name: string }
  | { readonly kind: 'tag'; readonly start: Mark; readonly handle: string; readonly suffix: string }
  | { readonly kind: 'scalar'; readonly start: Mark; readonly value: string; readonly plain: boolean };

type Indicator =
  | 'streamEnd'
  | 'documentStart'
  | 'documentEnd'
  | 'blockSequenceStart'
  | 'blockMappingStart'
  | 'blockEnd'
  | 'flowSequenceStart'
  | 'flowSequenceEnd'
  | 'flowMappingStart'
  | 'flowMappingEnd'
  | 'flowEntry'
  | 'blockEntry'
  | 'key'
  | 'value';
