
/**
 * Options are declared once, in a table per daemon; parsing, help, validation and the reference docs come from it.
 *
 *     const table = {
 *       'secure-port': { type: 'int', default: 10259, section: 'Serving', meaning: 'HTTPS port; 0 disables HTTPS.' },
 *     } as const satisfies OptionTable;
 *     type Options = OptionValues<typeof table>;   // { readonly 'secure-port': number }
 */
export type OptionType =
  /** JavaScript string. */
  | 'string'
  /** Comma list, repeatable: string[]. */
  | 'strings'
  /** Repeatable, not split at commas: string[]. */
  | 'stringArray'
  | 'bool'
  | 'int'
  | 'float'
  /** Go duration (`1m0s`); milliseconds. */
  | 'duration'
  /** `a=1,b=2`, repeatable: Record<string, string>. */
  | 'map'
  /** `A=true,B=false`: Record<string, boolean>. */
  | 'boolMap';

export interface OptionDeclaration {
  readonly type: OptionType;
  /** Heading in `--help`. */
  readonly section: string;
  readonly meaning: string;
  /** In the type's JavaScript form (durations: milliseconds). Absent: zero value, or undefined for strings. */
  readonly default?: unknown;
  /** Allowed values. */
  readonly oneOf?: readonly string[];
  /** Allowed values where a rule checks them: with other values, or together with the other options. Help shows them. */
  readonly choices?: readonly string[];
  /** What is wrong with the text of one occurrence, beside its type; undefined: nothing. */
  readonly check?: (text: string) => string | undefined;
  /** Of an integer: it has no sign. */
  readonly unsigned?: true;
  /** Of a number: errors are in the words of Go's own flag package, which 1.24 reads these few with. */
  readonly plainErrors?: true;
  /** Smallest value of a number; of a duration in milliseconds. */
  readonly min?: number;
  /** Of a number: words that stand for some, in capitals; they are read whatever their case is. */
  readonly words?: Readonly<Record<string, number>>;
  /** Of a map: a key may stand alone, for an empty value. */
  readonly bareKeys?: true;
  /** Of a map: pairs may be quoted, and a single one is taken whole, so that both parts may contain commas. */
  readonly quotedPairs?: true;
  /** Text that follows `has been deprecated, `. */
  readonly deprecated?: string;
  /** Nothing acts on it yet, or, where a text says why, ever: setting it logs a warning that says so. */
  readonly inert?: true | string;
  /** Values of an inert option that come true all the same, and need no warning. */
  readonly inertUnless?: readonly string[];
  /** Its text where it stands alone, which it then always does when no `=` follows. */
  readonly alone?: string;
  readonly shorthand?: string;
  /** Other names that the command line may use for it; values and messages know the table's name alone. */
  readonly aliases?: readonly string[];
  /** Dotted path of the field in the daemon's config file that this option overrides. */
  readonly configField?: string;
}

export type OptionTable = Readonly<Record<string, OptionDeclaration>>;

type ValueOf<D extends OptionDeclaration> = D['type'] extends 'string'
  ? D extends { default: string }
    ? string
    : string | undefined
  : D['type'] extends 'strings' | 'stringArray'
    ? readonly string[]
    : D['type'] extends 'bool'
      ? boolean
      : D['type'] extends 'map'
        ? Readonly<Record<string, string>>
        : D['type'] extends 'boolMap'
          ? Readonly<Record<string, boolean>>
          : number;

/** The frozen values of a table, by option name without dashes in front. */
export type OptionValues<T extends OptionTable> = { readonly [K in keyof T]: ValueOf<T[K]> };

/** Everything that is wrong with a command line, at once. */
export class OptionsError extends Error {
  override readonly name = 'OptionsError';
  readonly messages: readonly string[];

  constructor(messages: readonly string[]) {
    super(messages.join('\n'));
    this.messages = messages;
  }
}
