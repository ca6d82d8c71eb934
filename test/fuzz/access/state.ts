/** Stored objects as parsed JSON by `resource/namespace/name` or `resource/name`. */

// biome-ignore lint/suspicious/noExplicitAny: objects of all kinds, looked into by rules that know them
export type Stored = Record<string, any>;

export type State = ReadonlyMap<string, Stored>;

/** The objects of a resource, optionally in one namespace. */
export function objectsOf(state: State, resource: string, namespace = ''): Stored[] {
  const prefix = namespace === '' ? `${resource}/` : `${resource}/${namespace}/`;
  return [...state].filter(([key]) => key.startsWith(prefix)).map(([, object]) => object);
}
