/** Rows of the table of effects: for each option and field of the node agent the test that sees what it does. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';

/** Observes one effect of a configuration. */
export type Sight = (values: NodeAgentOptions, dialect: Dialect) => unknown;

/** A test elsewhere. Template parameters of its title are written as in the source. */
export interface NamedTest {
  /** Path from the root of the repository. */
  readonly file: string;
  readonly title: string;
}

export type Proof =
  /** Runs with the default, with the option and with the field: both match `expected`, the default does not. */
  | { readonly sight: Sight; readonly expected: unknown }
  /** Observes the value however it was given: the table proves that option and field lead to the same value. */
  | { readonly test: NamedTest }
  /** The option has no effect and says so. */
  | 'inert';

export interface Effect {
  /** An instance of the option on the command line: its value. Absent for fields without an option. */
  readonly argument?: string;
  /** The same as fields of the configuration file; absent for options without a field. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** The file has another default than the option, so that its instance differs. */
  readonly isOpposite?: boolean;
  /** Feature gates that the option needs. */
  readonly gates?: readonly string[];
  /** Further options that the sight needs. */
  readonly with?: readonly string[];
  readonly proof: Proof;
}

export type Effects = Readonly<Record<string, Effect>>;

export const sees = (expected: unknown, sight: Sight): Proof => ({ sight, expected });

export const seenIn = (file: string, title: string): Proof => ({ test: { file, title } });
