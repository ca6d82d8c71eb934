/** Drops members that a schema does not declare. Source: 1.24, …/pkg/apiserver/schema/pruning/algorithm.go. */

import { objectFields } from '#api/apiextensions/v1/customresourcedefinition/default-validation.js';
import { isMembers, type Structural } from '#api/apiextensions/v1/structural/structural.js';

/** Called with the path of each dropped member: `spec.parts[0].colour`. */
export type Dropped = (path: string) => void;

/** Modifies the object in place. Members common to all API objects stay. */
export function pruneObject(object: object, schema: Structural, dropped: Dropped = () => undefined): void {
  if (schema.keepsAll) return;
  const drop = (members: Members, name: string, path: string) => {
    delete members[name];
    dropped(path);
    return 'go on' as const;
  };
  new Walk(drop, true).members(object as Members, schema, { path: '', isResource: true });
}

/** True if pruning would drop a member. */
export function wouldPrune(object: object, schema: Structural): boolean {
  if (schema.keepsAll) return false;
  return new Walk(() => 'stop', false).members(object as Members, schema, { path: '', isResource: true }) === 'stop';
}

type Members = Record<string, unknown>;
type Next = 'go on' | 'stop';
/** Called for each undeclared member. */
type Unknown = (members: Members, name: string, path: string) => Next;

interface Place {
  readonly path: string;
  readonly isResource: boolean;
}

class Walk {
  readonly #unknown: Unknown;
  readonly #hasPaths: boolean;

  /** `hasPaths`: whether to build paths, which is expensive. */
  constructor(unknown: Unknown, hasPaths: boolean) {
    this.#unknown = unknown;
    this.#hasPaths = hasPaths;
  }

  members(members: Members, schema: Structural | undefined, { path, isResource }: Place): Next {
    for (const name of Object.keys(members)) {
      if (isResource && objectFields.has(name)) continue;
      const property = schema?.member(name);
      const at = this.#hasPaths ? (path === '' ? name : `${path}.${name}`) : '';
      let next: Next = 'go on';
      if (property !== undefined) next = this.#value(members[name], property === true ? undefined : property, at);
      else if (schema?.preservesUnknown !== true) next = this.#unknown(members, name, at);
      if (next === 'stop') return 'stop';
    }
    return 'go on';
  }

  #value(value: unknown, schema: Structural | undefined, path: string): Next {
    if (isMembers(value)) return this.members(value, schema, { path, isResource: schema?.isResource === true });
    if (Array.isArray(value)) return this.#elements(value, schema, path);
    return 'go on';
  }

  #elements(list: readonly unknown[], schema: Structural | undefined, path: string): Next {
    const items = schema?.preservesUnknown === true ? schema.preservingItems : schema?.items;
    // Elements of a list that preserves everything stay unchanged.
    if (items === undefined && schema?.preservesUnknown === true) return 'go on';
    for (let i = 0; i < list.length; i++) {
      if (this.#value(list[i], items, this.#hasPaths ? `${path}[${i}]` : '') === 'stop') return 'stop';
    }
    return 'go on';
  }
}
