/** A situation that controllers act on: what clients and nodes do, step by step. Data only. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** In every text of it, `$ns` stands for the namespace of the situation, and `$now-90m` for the time so long ago. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: JsonObject & { readonly name: string };
  readonly [key: string]: Json;
}

/** `Kind/name`. */
export type Target = `${string}/${string}`;

export type PodState = 'bound' | 'ready' | 'unready' | 'succeeded' | 'failed' | 'deleted';

/** What nodes say of pods. */
export interface PodsStep {
  readonly pods: PodState;
  /** Which ones: names that begin so. All of the namespace unless told. */
  readonly named?: string;
  /** The first so many of those that are not in the state yet; all unless told. */
  readonly first?: number;
  /** One after the other, each time until nothing happens any more. */
  readonly times?: number;
  /** Where they are bound unless they are already; `n1` unless told. */
  readonly node?: string;
  readonly exitCode?: number;
}

export interface PatchStep {
  readonly patch: Target;
  readonly with: Json;
  /** `merge` unless told. */
  readonly type?: 'merge' | 'strategic' | 'json';
  readonly subresource?: string;
}

export interface DeleteStep {
  readonly delete: Target;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
}

/** After each, controllers may work until nothing happens any more. */
export type Step =
  | { readonly create: readonly Manifest[] }
  | PatchStep
  | DeleteStep
  | PodsStep
  /** Seconds. */
  | { readonly wait: number };

export interface Situation {
  /** `topic/what`, unique: words of lower case letters, numbers and hyphens. */
  readonly name: string;
  readonly steps: readonly Step[];
  /** What every namespace has is compared, too. */
  readonly whole?: boolean;
  /** On which of the shared nodes something happens first is left to chance by release 1.24. */
  readonly anyNode?: boolean;
}

export function namespaceOf({ name }: Situation): string {
  return name.replaceAll('/', '-');
}

const durations = { s: 1000, m: 60_000, h: 3_600_000 } as const;

/** What the texts of a manifest stand for. Pure. */
export function filledIn<T extends Json>(value: T, namespace: string, nowMs: number): T {
  const text = JSON.stringify(value)
    .replaceAll('$ns', namespace)
    .replaceAll(
      /\$now(?:([+-])(\d+)([smh]))?/g,
      (_, sign: string | undefined, amount: string, unit: 's' | 'm' | 'h') => {
        const offset = sign === undefined ? 0 : Number(`${sign}${amount}`) * durations[unit];
        return `${new Date(nowMs + offset).toISOString().slice(0, 19)}Z`;
      },
    );
  return JSON.parse(text) as T;
}
