/**
 * Fields that exist only while their declared feature gate is on. While it is off, writes drop them unless the stored
 * object has them already, so that disabling a feature breaks no objects.
 */

import type { ApiObjectShape } from '#api/meta/object.js';
import type { StrategyContext } from '#api/strategy/strategy.js';
import type { Draft } from '#apimachinery/draft.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/** The path to a gated field: field names, and `anyElement` for list elements. */
export interface GatedPath {
  readonly gate: string;
  readonly steps: readonly string[];
  /** The field gets this value instead of being dropped, which disables its use. */
  readonly whileOff?: string;
}

export const anyElement = '*';

export interface Dropping {
  /** The same function always gives the same answers. */
  readonly gate: (name: string) => boolean;
  /** The stored object; absent on create. */
  readonly old?: ApiObjectShape | undefined;
  /** Whether the request writes the status, or everything else. */
  readonly part: 'status' | 'main';
}

/** Rules use a fixed list of gates; declarations may name any gate. */
export function anyGate({ gate }: Pick<StrategyContext, 'gate'>): Dropping['gate'] {
  return gate as Dropping['gate'];
}

/** The gated fields of a kind. */
export class GatedFields {
  readonly byGate: ReadonlyMap<string, readonly GatedPath[]>;
  readonly #statusApart: boolean;
  /** The tree of disabled fields, by gate function. */
  readonly #disabled = new WeakMap<Dropping['gate'], Branch>();

  /** `statusApart`: the kind's status has its own subresource. */
  constructor(type: TypeInfo, statusApart: boolean) {
    this.byGate = byGate(pathsBelow(type, { steps: [], ungated: [], within: [] }));
    this.#statusApart = statusApart;
  }

  /** Removes the fields with a disabled gate that the stored object does not use, in place. */
  drop(object: Draft<ApiObjectShape>, { gate, old, part }: Dropping): void {
    // Few objects have such a field, and one pass over the tree finds out.
    if (!hasAny(object, this.#disabledBy(gate))) return;
    for (const [name, paths] of this.byGate) {
      if (gate(name) || (old !== undefined && paths.some((path) => uses(old, path, 0)))) continue;
      for (const path of paths) if (this.#partOf(path) === part) drop(object, path, 0);
    }
  }

  /** Without a status subresource the status belongs to the main part. */
  #partOf({ steps }: GatedPath): Dropping['part'] {
    return this.#statusApart && steps[0] === 'status' ? 'status' : 'main';
  }

  #disabledBy(gate: Dropping['gate']): Branch {
    let root = this.#disabled.get(gate);
    if (root === undefined) {
      root = new Branch();
      for (const [name, paths] of this.byGate) if (!gate(name)) for (const path of paths) root.grow(path, 0);
      this.#disabled.set(gate, root);
    }
    return root;
  }
}

function byGate(paths: readonly GatedPath[]): ReadonlyMap<string, readonly GatedPath[]> {
  return new Map(paths.map(({ gate }) => [gate, paths.filter((path) => path.gate === gate)]));
}

interface Place {
  readonly steps: readonly string[];
  /** Gates that do not apply here. */
  readonly ungated: readonly string[];
  /** Enclosing types: some are recursive. */
  readonly within: readonly TypeInfo[];
}

function pathsBelow(type: TypeInfo, place: Place): GatedPath[] {
  if (place.within.includes(type)) return [];
  return type.fields.flatMap((field) => {
    const own = field.name === '' ? place.steps : [...place.steps, field.name];
    const below: Place = {
      steps: field.container === 'list' ? [...own, anyElement] : own,
      ungated: [...place.ungated, ...(field.ungated ?? [])],
      within: [...place.within, type],
    };
    return [...gatedHere(field, own, place.ungated), ...(field.type ? pathsBelow(field.type, below) : [])];
  });
}

function gatedHere(
  { featureGate: gate, whileOff }: FieldInfo,
  steps: readonly string[],
  ungated: readonly string[],
): GatedPath[] {
  if (gate === undefined || ungated.includes(gate)) return [];
  return [{ gate, steps, ...(whileOff !== undefined && { whileOff }) }];
}

/** The paths of all disabled gates as a tree. */
class Branch {
  /** The path that ends here; others may continue. */
  end: GatedPath | undefined;
  /** An array rather than a map: all entries are checked for each object. */
  readonly steps: { readonly step: string; readonly below: Branch }[] = [];

  /** Adds the rest of a path from step `at` on. */
  grow(path: GatedPath, at: number): void {
    const step = path.steps[at];
    if (step === undefined) {
      this.end = path;
      return;
    }
    let next = this.steps.find((entry) => entry.step === step)?.below;
    if (next === undefined) {
      next = new Branch();
      this.steps.push({ step, below: next });
    }
    next.grow(path, at + 1);
  }
}

/** Whether the value uses a field of the tree. */
function hasAny(value: unknown, { steps }: Branch): boolean {
  if (!isObject(value)) return false;
  for (const { step, below } of steps) {
    if (step === anyElement) {
      if (!Array.isArray(value)) continue;
      for (const element of value) if (hasAny(element, below)) return true;
    } else {
      const member = value[step];
      if (below.end !== undefined && inUse(member, below.end)) return true;
      if (hasAny(member, below)) return true;
    }
  }
  return false;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function inUse(value: unknown, { whileOff }: GatedPath): boolean {
  return value !== undefined && value !== whileOff;
}

/** Whether the value uses the field at the rest of the path from step `at` on. */
function uses(value: unknown, path: GatedPath, at: number): boolean {
  const step = path.steps[at];
  if (step === undefined) return inUse(value, path);
  if (step === anyElement) return Array.isArray(value) && value.some((element) => uses(element, path, at + 1));
  return isObject(value) && uses(value[step], path, at + 1);
}

function drop(value: unknown, path: GatedPath, at: number): void {
  const step = path.steps[at];
  if (step === undefined || !isObject(value)) return;
  if (step === anyElement) {
    if (Array.isArray(value)) for (const element of value) drop(element, path, at + 1);
  } else if (at < path.steps.length - 1) drop(value[step], path, at + 1);
  // An unused value may be shared with the stored object, so it must not be written to.
  else if (!inUse(value[step], path)) return;
  else if (path.whileOff === undefined) delete value[step];
  else value[step] = path.whileOff;
}
