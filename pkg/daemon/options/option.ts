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
  /** Comma-separated and repeatable: string[]. */
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
  /** Allowed values that a rule checks, with others or in combination; shown in help. */
  readonly choices?: readonly string[];
  /** Returns the fault in one occurrence's text, apart from its type; undefined if valid. */
  readonly check?: (text: string) => string | undefined;
  /** For integers: no sign allowed. */
  readonly unsigned?: true;
  /** For numbers: error texts of Go's own flag package, which 1.24 uses for these few. */
  readonly plainErrors?: true;
  /** Smallest value; durations in milliseconds. */
  readonly min?: number;
  /** For numbers: names of values, in capitals; matched case-insensitively. */
  readonly words?: Readonly<Record<string, number>>;
  /** For maps: a key may stand alone and has an empty value then. */
  readonly bareKeys?: true;
  /** For maps: pairs may be quoted. A single pair is taken whole, so both parts may contain commas. */
  readonly quotedPairs?: true;
  /** Text that follows `has been deprecated, `. */
  readonly deprecated?: string;
  /** The option has no effect, and this is why. Setting it logs a warning, or ends the start (`protects`). */
  readonly inert?: string;
  /** The option decides on authentication, authorization, admission, audit, encryption, egress or TLS: without an effect it must not be set. */
  readonly protects?: true;
  /** Values of an inert option that need no warning, because they describe what happens anyway. */
  readonly inertUnless?: readonly string[];
  /** Value when no `=` follows the option. */
  readonly alone?: string;
  readonly shorthand?: string;
  /** Other names on the command line; values and messages use the table's name. */
  readonly aliases?: readonly string[];
  /** Path of the config file field that this option overrides. */
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

/** The frozen values of a table, by option name without leading dashes. */
export type OptionValues<T extends OptionTable> = { readonly [K in keyof T]: ValueOf<T[K]> };

/** All problems of a command line at once. */
export class OptionsError extends Error {
  override readonly name = 'OptionsError';
  readonly messages: readonly string[];

  constructor(messages: readonly string[]) {
    super(messages.join('\n'));
    this.messages = messages;
  }
}
