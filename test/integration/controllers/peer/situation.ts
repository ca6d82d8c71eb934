/** A situation: steps of clients and nodes to which controllers react. Data only. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** In all texts, `$ns` stands for the situation's namespace, and `$now-90m` for a time in the past. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: JsonObject & { readonly name: string };
  readonly [key: string]: Json;
}

/** `Kind/name`. */
export type Target = `${string}/${string}`;

export type PodState = 'bound' | 'ready' | 'unready' | 'succeeded' | 'failed' | 'deleted';

/** Pod states reported by nodes. */
export interface PodsStep {
  readonly pods: PodState;
  /** A name prefix; by default all pods of the namespace. */
  readonly named?: string;
  /** The number of pods to change; by default all. */
  readonly first?: number;
  /** Change the pods one by one, and wait for the controllers each time. */
  readonly times?: number;
  /** The node of unbound pods; by default `n1`. */
  readonly node?: string;
  readonly exitCode?: number;
}

export interface PatchStep {
  readonly patch: Target;
  readonly with: Json;
  /** By default `merge`. */
  readonly type?: 'merge' | 'strategic' | 'json';
  readonly subresource?: string;
}

export interface DeleteStep {
  readonly delete: Target;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
}

/** After each step, the controllers run until they are idle. */
export type Step =
  | { readonly create: readonly Manifest[] }
  | PatchStep
  | DeleteStep
  | PodsStep
  /** Seconds. */
  | { readonly wait: number };

export interface Situation {
  /** `topic/name`, unique: lower case letters, digits and hyphens. */
  readonly name: string;
  readonly steps: readonly Step[];
  /** Compare the default objects of the namespace, too. */
  readonly whole?: boolean;
  /** Release 1.24 chooses among the shared nodes at random. */
  readonly anyNode?: boolean;
}

export function namespaceOf({ name }: Situation): string {
  return name.replaceAll('/', '-');
}

const durations = { s: 1000, m: 60_000, h: 3_600_000 } as const;

/** Replaces placeholders in a manifest. Pure. */
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
